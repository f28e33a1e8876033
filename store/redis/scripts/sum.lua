local c = redis.call('HMGET', KEYS[1], 'sum', 'ends')
if not c[1] or (num(c[2]) ~= 0 and num(c[2]) <= now()) then return '0' end
return c[1]
