-- Moves queued messages to the dead letters, KEYS[9]. ARGV from 4 on are
-- positions.
--   1 buried .session .reason \n item
local DEAD = KEYS[9]
local sid, token, reason = unpack(ARGV, 1, 3)
local m = meta('tok', 'q', 'run')
if m.tok ~= token then return fail(FENCED) end
local wanted, q, t, n = {}, num(m.q), now(), 0
for i = 4, #ARGV do wanted[tonumber(ARGV[i])] = true end
for i, item in ipairs(redis.call('LRANGE', IN, 0, -1)) do
  local it = message(item)
  if not it then return fail(NEWER) end
  if wanted[it.pos] then
    redis.call('RPUSH', DEAD, '1 ' .. int(t) .. ' .' .. sid .. ' ' .. reason .. '\n' .. item)
    redis.call('LSET', IN, i - 1, '')
    if it.quiet then q = q - 1 end
    n = n + 1
  end
end
if n > 0 then
  redis.call('LREM', IN, 0, '')
  redis.call('HSET', META, 'q', int(q))
  rest(m, q, sid)
end
return n
