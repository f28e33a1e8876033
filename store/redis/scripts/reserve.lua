-- Adds an amount to every counter or to none. KEYS: the reservation, the last
-- window's number, then the counters; ARGV from 3 on are triples: name, limit,
-- window in microseconds.
local amount, remember = tonumber(ARGV[1]), tonumber(ARGV[2])
local t = now()
local function window(key)
  local c = redis.call('HMGET', key, 'sum', 'ends', 'id')
  if c[3] and (num(c[2]) == 0 or num(c[2]) > t) then return num(c[1]), num(c[2]), c[3] end
end
local ends = redis.call('HGET', KEYS[1], 'ends')
if ends and num(ends) > t then return 'known' end
for i = 3, #KEYS do
  local limit = tonumber(ARGV[3 * i - 5])
  local sum = window(KEYS[i]) or 0
  if limit > 0 and sum + amount > limit then
    return 'LIMIT ' .. ARGV[3 * i - 6] .. ' ' .. int(sum) .. ' ' .. ARGV[3 * i - 5]
  end
end
redis.call('DEL', KEYS[1])
local last, list = 0, {}
for i = 3, #KEYS do
  local length = tonumber(ARGV[3 * i - 4])
  local sum, ends, id = window(KEYS[i])
  if not id then
    id = int(redis.call('INCR', KEYS[2]))
    ends = 0
    redis.call('DEL', KEYS[i])
    if length > 0 then ends = t + length end
    redis.call('HSET', KEYS[i], 'sum', '0', 'ends', int(ends), 'id', id)
    if ends > 0 then redis.call('PEXPIREAT', KEYS[i], int(math.ceil(ends / 1000))) end
  end
  redis.call('HINCRBY', KEYS[i], 'sum', ARGV[1])
  list[#list + 1] = id .. ' ' .. KEYS[i] .. '\n'
  last = math.max(last, ends == 0 and t + remember or ends)
end
redis.call('HSET', KEYS[1], 'amount', ARGV[1], 'ends', int(last), 'list', table.concat(list))
redis.call('PEXPIREAT', KEYS[1], int(math.max(math.ceil(last / 1000), math.ceil(t / 1000) + 1)))
return 'reserved'
