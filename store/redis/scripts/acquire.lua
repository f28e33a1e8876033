-- Takes the lease, or gives the same tenure again to its holder.
local sid, owner, nonce, ttl = unpack(ARGV)
local t = now()
local m = meta('ep', 'tok', 'own', 'exp', 'cra', 'att', 'giv', 'gen', 'sum', 'nm', 'q')

local function of(token) return token and token:sub(-#nonce) == nonce end

-- mend derives from the lists what is kept beside them: Redis may have lost the
-- end of a transaction with the tail of its log.
local function mend()
  local closed, calls, at, step = {}, nil, redis.call('LLEN', LOG), 1
  while not calls do
    local items = redis.call('LRANGE', LOG, math.max(at - step, 0), at - 1)
    for i = #items, 1, -1 do
      local e = entry(items[i])
      if not e then return false end
      if e.kind == '3' then
        closed[e.closes] = true
      elseif e.kind ~= '5' then
        calls = {}
        if e.kind == '2' then
          eachopened(e.opens, function(call)
            if not closed[call] then calls[#calls + 1] = call end
          end)
        end
        break
      end
    end
    at = at - #items
    if at <= 0 and not calls then calls = {} end
    step = math.min(step * 2, 64)
  end
  local began = {}
  local stored = opened()
  for _, c in ipairs(stored) do began[c[1]] = c[2] end
  local list = {}
  for i, call in ipairs(calls) do list[i] = {call, began[call] or '-'} end
  if #list > 0 or #stored > 0 then setopened(list) end

  local quiet, next = 0, num(m.nm)
  for _, item in ipairs(redis.call('LRANGE', IN, 0, -1)) do
    local it = message(item)
    if not it then return false end
    if it.quiet then quiet = quiet + 1 end
    next = math.max(next, it.pos + 1)
  end
  if quiet ~= num(m.q) or next ~= num(m.nm) then redis.call('HSET', META, 'q', int(quiet), 'nm', int(next)) end
  return true
end

local again = of(m.tok)
if not again and of(m.giv) then return fail(FENCED) end -- an attempt that came late
local token, crashed, attempts = m.tok, m.cra == '1' and 1 or 0, num(m.att)
if not again and held(m, t) and m.own ~= owner then
  return {0, m.own, num(m.exp) - t}
elseif again or held(m, t) then
  redis.call('HSET', META, 'exp', int(t + ttl))
else
  if not mend() then return fail(NEWER) end
  crashed = m.tok and 1 or 0
  attempts = attempts + crashed
  local epoch = num(m.ep) + 1
  token = int(epoch) .. ':' .. nonce
  redis.call('HSET', META, 'ep', int(epoch), 'tok', token, 'own', owner, 'exp', int(t + ttl),
    'run', '1', 'cra', int(crashed), 'att', int(attempts))
  redis.call('ZADD', ACT, 'NX', int(t), sid)
end
redis.call('ZADD', DUE, int(t + ttl), sid)
return {1, token, redis.call('LLEN', LOG), num(m.gen), m.sum and num(m.sum) or -1, crashed, attempts,
  redis.call('GET', REPLY) or '', redis.call('GET', OPEN) or '', redis.call('LLEN', SIG)}
