-- Gives a blob its name: KEYS[1] says where its chunks are, KEYS[2] when it was
-- put last. Returns where those of the name are, which may be an earlier one's.
redis.call('ZADD', KEYS[2], int(now()), ARGV[2])
if redis.call('SET', KEYS[1], ARGV[1], 'NX') then return ARGV[1] end
return redis.call('GET', KEYS[1])
