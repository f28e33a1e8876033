-- Appends a summary; what lies before keep is no longer live.
local sid, token, first, keep, at, item = unpack(ARGV)
first, keep = tonumber(first), tonumber(keep)
local m = meta('tok', 'gen', 'keep')
if m.tok ~= token then return fail(FENCED) end
local tail = redis.call('LLEN', LOG)
local taken, why = place(first, 1, tail)
if why then return fail(why) end
local t = now()
if at == '-' then at = int(t) .. '000' end
item = '1 ' .. at .. ' ' .. item
if taken then
  local has, new = entry(redis.call('LINDEX', LOG, int(first))), entry(item)
  if not has then return fail(NEWER) end
  if not new or has.id ~= new.id or has.kind ~= new.kind or has.keep ~= new.keep then return fail(CONFLICT) end
  return 0
end
if keep < num(m.keep) or keep > tail + 1 then return fail(INVALID) end
if redis.call('EXISTS', OPEN) == 1 then return fail(OPENCALL) end
redis.call('RPUSH', LOG, item)
redis.call('HSET', META, 'gen', int(num(m.gen) + 1), 'sum', int(tail), 'keep', int(keep))
redis.call('ZADD', ACT, int(t), sid)
return 1
