-- Notes that a call is about to run.
local token, call = unpack(ARGV)
if redis.call('HGET', META, 'tok') ~= token then return fail(FENCED) end
local open = opened()
for _, c in ipairs(open) do
  if c[1] == call then
    if c[2] ~= '-' then return c[2] == token and 0 or 1 end
    c[2] = token
    setopened(open)
    return 0
  end
end
return fail(CONFLICT)
