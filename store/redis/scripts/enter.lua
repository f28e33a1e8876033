-- Marks the prefix as clawbot's and says what it is: its format and identity.
-- KEYS[1] is the mark; ARGV: format, new identity.
if redis.call('HSETNX', KEYS[1], 'id', ARGV[2]) == 1 then redis.call('HSET', KEYS[1], 'format', ARGV[1]) end
redis.call('HSET', KEYS[1], 'seen', int(now()))
return redis.call('HMGET', KEYS[1], 'format', 'id')
