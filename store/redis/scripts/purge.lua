-- Deletes the session whole, dead letters in KEYS[9] included; ids of its
-- events stay known.
local DEAD = KEYS[9]
local sid, token = unpack(ARGV)
if redis.call('EXISTS', META) == 0 then return 0 end
if redis.call('HGET', META, 'tok') ~= token then return fail(FENCED) end
for _, letter in ipairs(redis.call('LRANGE', DEAD, 0, -1)) do
  if letter:match('^1 %d+ %.(%S*) ') == sid then redis.call('LREM', DEAD, 1, letter) end
end
redis.call('ZREM', DUE, sid)
redis.call('ZREM', ACT, sid)
redis.call('DEL', IN, SIG, LOG, OPEN, REPLY, META)
return 1
