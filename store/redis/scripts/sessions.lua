-- Lists sessions of the partitions of KEYS whose ids begin with a prefix, the
-- latest active first, from a time on backwards: up to limit of each partition,
-- and all of the last one's instant. Redis compares strings by its locale, so
-- ties are left to the caller.
local prefix, from, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local out = {}
for i, key in ipairs(KEYS) do
  local at, n, last = 0, 0, nil
  while true do
    local got = redis.call('ZREVRANGEBYSCORE', key, from, '-inf', 'WITHSCORES', 'LIMIT', at, 256)
    local full = false
    for j = 1, #got, 2 do
      if got[j]:sub(1, #prefix) == prefix then
        if n >= limit and got[j + 1] ~= last then
          full = true
          break
        end
        out[#out + 1], out[#out + 2] = got[j], got[j + 1]
        n, last = n + 1, got[j + 1]
      end
    end
    at = at + #got / 2
    if full or #got < 512 then break end
  end
end
return out
