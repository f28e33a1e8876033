-- Takes a blob's name away, unless it was put again meanwhile. Returns where its
-- chunks are.
local ref, before = ARGV[1], tonumber(ARGV[2])
local put = redis.call('ZSCORE', KEYS[2], ref)
if not put or tonumber(put) >= before then return '' end
local where = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ref)
return where or ''
