-- Lists the latest dead letters of each partition of KEYS, the latest first.
local out = {}
for i, key in ipairs(KEYS) do
  local got = redis.call('LRANGE', key, -tonumber(ARGV[1]), -1)
  for j = #got, 1, -1 do out[#out + 1] = got[j] end
end
return out
