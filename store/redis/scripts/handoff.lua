-- Gives the lease up with work left.
local sid, token, delay, crashed = unpack(ARGV)
local m = meta('tok', 'giv', 'att')
if m.tok ~= token then
  if m.giv == token then return 1 end
  return fail(FENCED)
end
redis.call('HSET', META, 'giv', token)
redis.call('HDEL', META, 'tok', 'own', 'exp', 'cra')
if crashed == '1' then redis.call('HSET', META, 'att', int(num(m.att) + 1)) end
redis.call('ZADD', DUE, int(now() + delay), sid)
return 1
