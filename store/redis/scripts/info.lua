-- Describes one session, an empty reply if there is none.
local m = meta('tok', 'own', 'exp', 'gen', 'q')
if redis.call('EXISTS', META) == 0 then return {} end
return {redis.call('LLEN', LOG), num(m.gen), held(m, now()) and m.own or '', waiting(num(m.q)), redis.call('ZSCORE', ACT, ARGV[1]) or '0'}
