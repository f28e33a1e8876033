-- Reads a value of a term: KEYS are the term and its values.
local token, key = unpack(ARGV)
if redis.call('HGET', KEYS[1], 'tok') ~= token then return fail('FENCED the term is held by another') end
return redis.call('HGET', KEYS[2], key)
