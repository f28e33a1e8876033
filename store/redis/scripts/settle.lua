-- Replaces a reserved amount by what was used, in the windows that it was added
-- to. Their keys are kept with the reservation and share its slot.
local r = redis.call('HMGET', KEYS[1], 'amount', 'ends', 'list')
if not r[1] or num(r[2]) <= now() then return 0 end
local change = tonumber(ARGV[1]) - num(r[1])
for id, key in r[3]:gmatch('(%d+) ([^\n]+)\n') do
  if redis.call('HGET', key, 'id') == id then redis.call('HINCRBY', key, 'sum', int(change)) end
end
redis.call('HSET', KEYS[1], 'amount', ARGV[1])
return 1
