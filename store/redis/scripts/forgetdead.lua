-- Deletes the dead letters of each partition of KEYS that were buried before
-- then, at most so many of each. They stand in the order of their burial.
local before, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local out = {}
for i, key in ipairs(KEYS) do
  local n = 0
  for _, item in ipairs(redis.call('LRANGE', key, 0, most - 1)) do
    local buried = item:match('^1 (%d+) ')
    if not buried or tonumber(buried) >= before then break end
    n = n + 1
  end
  if n > 0 then redis.call('LTRIM', key, n, -1) end
  out[i] = n
end
return out
