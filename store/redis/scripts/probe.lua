-- Makes every kind of call that the scripts make, on keys of its own, and says
-- which ones this user may not make. KEYS: a string, a list, a hash, a sorted
-- set; ARGV[1] is a channel.
local s, l, h, z = unpack(KEYS)
local calls = {
  {'TIME'}, {'SET', s, '1', 'PX', 1000}, {'GET', s}, {'GETRANGE', s, 0, 0}, {'EXISTS', s}, {'INCR', s},
  {'PEXPIREAT', s, int(now() / 1000 + 1000)}, {'PERSIST', s}, {'PEXPIRE', s, 1000}, {'DEL', s},
  {'RPUSH', l, 'a', 'b'}, {'LRANGE', l, 0, -1}, {'LLEN', l}, {'LINDEX', l, 0}, {'LSET', l, 0, ''},
  {'LREM', l, 1, ''}, {'LTRIM', l, 1, -1}, {'DEL', l},
  {'HSET', h, 'f', '1'}, {'HSETNX', h, 'f', '1'}, {'HGET', h, 'f'}, {'HMGET', h, 'f'},
  {'HINCRBY', h, 'f', 1}, {'HEXISTS', h, 'f'}, {'HDEL', h, 'f'}, {'DEL', h},
  {'ZADD', z, 'LT', 1, 'm'}, {'ZRANGEBYSCORE', z, '-inf', 1}, {'ZREVRANGEBYSCORE', z, 1, '-inf'},
  {'ZRANGEBYLEX', z, '-', '+'}, {'ZREM', z, 'm'}, {'DEL', z}, {'PUBLISH', ARGV[1], ''},
}
local refused = {}
for _, call in ipairs(calls) do
  local r = redis.pcall(unpack(call))
  if type(r) == 'table' and r.err then refused[#refused + 1] = call[1] .. ': ' .. r.err end
end
return refused
