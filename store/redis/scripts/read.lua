-- Reads a page of entries without a lease: at least one, then up to about a
-- number of bytes.
local from, count, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if redis.call('EXISTS', META) == 0 then return fail('NOTFOUND no such session') end
local at, items, bytes = from, {}, 0
while #items < count and bytes < limit do
  local got = redis.call('LRANGE', LOG, at, at + math.min(count - #items, 32) - 1)
  if #got == 0 then break end
  for _, item in ipairs(got) do
    items[#items + 1] = item
    bytes = bytes + #item
  end
  at = at + #got
end
return items
