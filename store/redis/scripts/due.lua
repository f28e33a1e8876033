-- Lists what is due in the partitions of KEYS.
local limit = ARGV[1]
local t = int(now())
local out = {}
for i, key in ipairs(KEYS) do
  for _, v in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', t, 'WITHSCORES', 'LIMIT', 0, limit)) do
    out[#out + 1] = v
  end
end
return out
