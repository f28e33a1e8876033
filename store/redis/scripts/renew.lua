-- Extends the lease and says what waits.
local sid, token, ttl = unpack(ARGV)
if redis.call('HGET', META, 'tok') ~= token then return fail(FENCED) end
local expires = int(now() + ttl)
redis.call('HSET', META, 'exp', expires)
redis.call('ZADD', DUE, expires, sid)
return {redis.call('LRANGE', SIG, 0, -1), redis.call('LRANGE', IN, 0, -1)}
