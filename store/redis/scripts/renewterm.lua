local token, ttl = unpack(ARGV)
if redis.call('HGET', KEYS[1], 'tok') ~= token then return fail('FENCED the term is held by another') end
redis.call('HSET', KEYS[1], 'exp', int(now() + ttl))
return 1
