-- Reads a page of State: names between two bounds, at most ARGV[3], and their values.
local names = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local out = {}
for i, name in ipairs(names) do
  out[2 * i - 1], out[2 * i] = name, redis.call('HGET', KEYS[1], name) or ''
end
return out
