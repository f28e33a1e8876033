-- Stores an event, once. KEYS[9] knows the event's id.
local DD = KEYS[9]
local sid, lane, op, quiet, id, key, body, remember = unpack(ARGV)
local t = now()
local m = meta('tok', 'own', 'exp', 'nm', 'ns', 'q', 'run')
local q = num(m.q)

local function answer(duplicate, applied, position)
  return {duplicate, applied, position, held(m, t) and m.own or '', waiting(q)}
end

-- remembered is the last write: should Redis lose the end of this, the event
-- is there twice rather than not at all.
local function remembered(applied, position)
  redis.call('ZADD', ACT, int(t), sid)
  redis.call('SET', DD, applied .. ' ' .. int(position), 'PX', remember)
  return answer(0, applied, position)
end

local seen = redis.call('GET', DD)
if seen then
  local applied, position = seen:match('^(%d) (%d+)$')
  return answer(1, num(applied), num(position))
end

if op ~= '0' then
  local items = redis.call('LRANGE', IN, 0, -1)
  for i = #items, 1, -1 do
    local it = message(items[i])
    if not it then return fail(NEWER) end
    if it.key == key and it.op == '0' then
      if op == '1' then
        redis.call('LSET', IN, i - 1, items[i]:match('^[^\n]*\n') .. body)
      else
        redis.call('LSET', IN, i - 1, '')
        redis.call('LREM', IN, 1, '')
        if it.quiet then
          q = q - 1
          redis.call('HSET', META, 'q', int(q))
        end
        rest(m, q, sid)
      end
      return remembered(1, it.pos)
    end
  end
end

local list, counter, tail = IN, 'nm', '0'
if lane == '1' then list, counter, tail = SIG, 'ns', int(num(m.nm)) end
local position = num(m[counter])
redis.call('RPUSH', list, table.concat({'1', int(position), op, quiet, tail, int(t), id, key}, ' ') .. '\n' .. body)
redis.call('HSET', META, counter, int(position + 1))
if quiet == '1' then
  q = q + 1
  redis.call('HSET', META, 'q', int(q))
elseif not held(m, t) then
  redis.call('ZADD', DUE, 'LT', int(t), sid)
end
return remembered(0, position)
