-- Deletes a value of State. KEYS[3] knows this call, so that an attempt that
-- comes late does not delete what was put since.
if not redis.call('SET', KEYS[3], '', 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
