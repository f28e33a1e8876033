-- Moves messages from the inbox to the transcript.
local sid, token, first, max, before, drain = unpack(ARGV)
first, max, before = tonumber(first), tonumber(max), tonumber(before)
local m = meta('tok', 'q')
if m.tok ~= token then return fail(FENCED) end
local tail = redis.call('LLEN', LOG)
local taken, why = place(first, 0, tail)
if why then return fail(why) end

if taken then
  local out = {}
  while true do
    local at = first + #out
    local items = redis.call('LRANGE', LOG, at, at + 31)
    local n = #out
    for _, item in ipairs(items) do
      local e = entry(item)
      if not e then return fail(NEWER) end
      if e.drain ~= drain then break end
      out[#out + 1] = item
    end
    if #out < n + 32 then break end
  end
  if #out == 0 then return fail(CONFLICT) end
  return out
end

if redis.call('EXISTS', OPEN) == 1 then return fail(OPENCALL) end
local out, quiet, last = {}, 0, -1
if max > 0 then last = int(math.min(max, 2 ^ 40) - 1) end
for _, item in ipairs(redis.call('LRANGE', IN, 0, last)) do
  local it = message(item)
  if not it then return fail(NEWER) end
  if before > 0 and it.pos >= before then break end
  if it.quiet then quiet = quiet + 1 end
  out[#out + 1] = table.concat({'1', it.at .. '000', '1', it.id, token, int(it.pos), drain, '0', '.', '-'}, ' ')
    .. '\n' .. data(item)
end
if #out == 0 then return out end
for _, item in ipairs(out) do redis.call('RPUSH', LOG, item) end
redis.call('LTRIM', IN, #out, -1)
if quiet > 0 then redis.call('HSET', META, 'q', int(num(m.q) - quiet)) end
redis.call('ZADD', ACT, int(now()), sid)
return out
