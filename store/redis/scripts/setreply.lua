-- Stores the reply's state. An older write of the same tenure that comes late,
-- after its connection was given up, changes nothing.
--   open sequence token .run \n data
local token, sequence, open, run, body = unpack(ARGV)
if redis.call('HGET', META, 'tok') ~= token then return fail(FENCED) end
local there, by = (redis.call('GET', REPLY) or ''):match('^%d (%d+) (%S+) ')
if by == token and num(there) >= num(sequence) then return 0 end
redis.call('SET', REPLY, table.concat({open, sequence, token, run}, ' ') .. '\n' .. body)
return 1
