-- Gives the lease up if there is nothing left to do.
local sid, token = unpack(ARGV)
local m = meta('tok', 'giv', 'q')
if m.tok ~= token then
  if m.giv == token then return 1 end
  return fail(FENCED)
end
if waiting(num(m.q)) > 0 or redis.call('LLEN', SIG) > 0 or redis.call('EXISTS', OPEN) == 1
  or redis.call('GETRANGE', REPLY, 0, 0) == '1' then
  return 0
end
redis.call('HSET', META, 'giv', token)
redis.call('HDEL', META, 'tok', 'own', 'exp', 'run', 'att', 'cra')
redis.call('ZREM', DUE, sid)
return 1
