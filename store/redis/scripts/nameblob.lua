-- Gives a blob its name: KEYS[1] says where its chunks are. Returns where those
-- of the name are, which may be an earlier one's.
if redis.call('SET', KEYS[1], ARGV[1], 'NX') then return ARGV[1] end
return redis.call('GET', KEYS[1])
