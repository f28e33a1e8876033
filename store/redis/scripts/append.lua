-- Writes entries at a position. ARGV from 4 on are pairs: the time, or - for
-- now, and the rest of the item.
local sid, token, first = unpack(ARGV, 1, 3)
first = tonumber(first)
local m = meta('tok', 'att')
if m.tok ~= token then return fail(FENCED) end
local tail, n = redis.call('LLEN', LOG), (#ARGV - 3) / 2
local taken, why = place(first, n, tail)
if why then return fail(why) end

local t = now()
local items = {}
for i = 1, n do
  local at = ARGV[2 + 2 * i]
  if at == '-' then at = int(t) .. '000' end
  items[i] = '1 ' .. at .. ' ' .. ARGV[3 + 2 * i]
end
if n == 0 then return n end
if taken then
  local there = redis.call('LRANGE', LOG, first, first + n - 1)
  for i = 1, n do
    local e = entry(there[i])
    if not e then return fail(NEWER) end
    if e.id ~= entry(items[i]).id then return fail(CONFLICT) end
  end
  return n
end

local open, changed, spoke = opened(), false, false
for i = 1, n do
  local e = entry(items[i])
  if e.kind == '1' or e.kind == '2' then
    if #open > 0 then return fail(OPENCALL) end
    eachopened(e.opens, function(call)
      open[#open + 1] = {call, '-'}
      changed = true
    end)
    spoke = spoke or e.kind == '2'
  elseif e.kind == '3' then
    local at
    for j, c in ipairs(open) do
      if c[1] == e.closes then at = j end
    end
    if not at then return fail(CONFLICT) end
    table.remove(open, at)
    changed = true
  end
end
for i = 1, n do redis.call('RPUSH', LOG, items[i]) end
if changed then setopened(open) end
if spoke and num(m.att) > 0 then redis.call('HDEL', META, 'att') end
redis.call('ZADD', ACT, int(t), sid)
return n
