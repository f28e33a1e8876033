-- Writes a value of a term. An older write of the same holder that comes late
-- changes nothing.
--   sequence token \n data
local token, key, sequence, body = unpack(ARGV)
if redis.call('HGET', KEYS[1], 'tok') ~= token then return fail('FENCED the term is held by another') end
local there, by = (redis.call('HGET', KEYS[2], key) or ''):match('^(%d+) (%S+)\n')
if by == token and num(there) >= num(sequence) then return 0 end
redis.call('HSET', KEYS[2], key, sequence .. ' ' .. token .. '\n' .. body)
return 1
