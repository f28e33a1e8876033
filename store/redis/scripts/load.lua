-- Reads a page of the live transcript, or, with page set, simply on from a
-- position. A page has at least one entry and then up to about limit bytes.
local token, from, page, limit = unpack(ARGV)
from, limit = tonumber(from), tonumber(limit)
local m = meta('tok', 'gen', 'sum', 'keep')
if m.tok ~= token then return fail(FENCED) end
local tail, sum, summary = redis.call('LLEN', LOG), m.sum and num(m.sum) or -1, ''
if from > tail then return fail(GAP) end
if page == '0' and sum >= 0 and from <= sum then
  from = num(m.keep)
  summary = redis.call('LINDEX', LOG, int(sum))
end
local at, items, bytes, step = math.max(from, 0), {}, 0, 8
local start = at
while at < tail and bytes < limit do
  local got = redis.call('LRANGE', LOG, at, at + step - 1)
  if #got == 0 then break end
  for _, item in ipairs(got) do
    items[#items + 1] = item
    bytes = bytes + #item
  end
  at = at + #got
  if bytes < limit / 4 then step = math.min(step * 2, 256) end
end
return {tail, num(m.gen), sum, summary, start, items}
