-- Takes a term, or gives the same again to its holder.
local TERM = KEYS[1]
local owner, nonce, ttl = unpack(ARGV)
local t = now()
local m = redis.call('HMGET', TERM, 'ep', 'tok', 'own', 'exp', 'giv')
local ep, tok, own, exp, giv = m[1], m[2], m[3], m[4], m[5]
local again = tok and tok:sub(-#nonce) == nonce
local free = not (tok and t < num(exp))
if not again and giv and giv:sub(-#nonce) == nonce then return fail('FENCED an attempt that came late') end
if not again and not free and own ~= owner then return {0, own, num(exp) - t} end
if not again and free then
  ep = num(ep) + 1
  tok = int(ep) .. ':' .. nonce
  redis.call('HSET', TERM, 'ep', int(ep), 'tok', tok, 'own', owner)
end
redis.call('HSET', TERM, 'exp', int(t + ttl))
return {1, tok}
