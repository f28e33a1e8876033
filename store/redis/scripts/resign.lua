local token = ARGV[1]
local m = redis.call('HMGET', KEYS[1], 'tok', 'giv')
if m[1] ~= token then
  if m[2] == token then return 1 end
  return fail('FENCED the term is held by another')
end
redis.call('HSET', KEYS[1], 'giv', token)
redis.call('HDEL', KEYS[1], 'tok', 'own', 'exp')
return 1
