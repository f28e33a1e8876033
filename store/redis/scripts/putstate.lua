-- Writes a value of State. KEYS: the values, their names in order, and the last
-- version given out.
--   version before \n data
local key, body, version = unpack(ARGV)
local has = redis.call('HGET', KEYS[1], key)
local is, before = '0', nil
if has then
  is, before = has:match('^(%d+) (%d+)\n')
  if before == version and has:sub(has:find('\n', 1, true) + 1) == body then return is end
end
if is ~= version then return fail('CONFLICT the version has moved on') end
local new = int(redis.call('INCR', KEYS[3]))
redis.call('HSET', KEYS[1], key, new .. ' ' .. version .. '\n' .. body)
redis.call('ZADD', KEYS[2], 0, key)
return new
