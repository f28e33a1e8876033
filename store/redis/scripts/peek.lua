-- Forgets signals below a position and says what waits.
local sid, token, before = unpack(ARGV)
if redis.call('HGET', META, 'tok') ~= token then return fail(FENCED) end
local signals = redis.call('LRANGE', SIG, 0, -1)
local n = 0
while n < #signals do
  local s = message(signals[n + 1])
  if not s then return fail(NEWER) end
  if s.pos >= tonumber(before) then break end
  n = n + 1
end
if n > 0 then redis.call('LTRIM', SIG, n, -1) end
local rest = {}
for i = n + 1, #signals do rest[#rest + 1] = signals[i] end
return {rest, redis.call('LRANGE', IN, 0, -1)}
