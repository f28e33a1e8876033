-- Shared by the scripts of one session. KEYS begin with these eight.
local META, IN, SIG, LOG, OPEN, REPLY, DUE, ACT = unpack(KEYS)

-- meta reads fields of the session; a missing one is false.
local function meta(...)
  local names = {...}
  local values = redis.call('HMGET', META, unpack(names))
  local m = {}
  for i, name in ipairs(names) do m[name] = values[i] end
  return m
end

local function held(m, t) return m.tok and t < num(m.exp) end

local FENCED = 'FENCED the lease is held by another or has expired'
local GAP = 'GAP the transcript is shorter than expected'
local CONFLICT = 'CONFLICT something else stands there'
local OPENCALL = 'OPENCALL a tool call has no result yet'
local INVALID = 'INVALID argument'
local NEWER = 'NEWER written by a newer clawbot: update this replica'

-- message reads an item of the inbox:
--   1 position op quiet tail at .id .key \n data
local function message(item)
  local pos, op, quiet, tail, at, id, key = item:match('^1 (%d+) (%d) (%d) (%d+) (%d+) (%S+) (%S+)\n')
  if not pos then return nil end
  return {pos = num(pos), op = op, quiet = quiet == '1', tail = tail, at = at, id = id, key = key}
end

local function data(item) return item:sub(item:find('\n', 1, true) + 1) end

-- entry reads an item of the log; its index is its position:
--   1 at kind .id token inbox drain keep .closes .opened,.opened \n data
local function entry(item)
  local kind, id, drain, keep, closes, opens =
    item:match('^1 %-?%d+ (%d) (%S+) %S+ %-?%d+ (%S+) (%-?%d+) (%S+) (%S+)\n')
  if not kind then return nil end
  return {kind = kind, id = id, drain = drain, keep = keep, closes = closes, opens = opens}
end

-- opened reads the open calls, in order: {call, token of who began it or '-'}.
local function opened()
  local list = {}
  for call, token in (redis.call('GET', OPEN) or ''):gmatch('(%S+) (%S+)\n') do
    list[#list + 1] = {call, token}
  end
  return list
end

local function setopened(list)
  if #list == 0 then return redis.call('DEL', OPEN) end
  local s = {}
  for i, c in ipairs(list) do s[i] = c[1] .. ' ' .. c[2] .. '\n' end
  redis.call('SET', OPEN, table.concat(s))
end

local function eachopened(opens, fn)
  for call in opens:gmatch('%.[^,]*') do fn(call) end
end

-- place says whether n entries from first on go to the tail (nil) or stand
-- there, perhaps, already (true); otherwise why not.
local function place(first, n, tail)
  if first < 0 then return nil, INVALID end
  if first > tail then return nil, GAP end
  if first == tail then return nil end
  if first + n > tail then return nil, CONFLICT end
  return true
end

local function waiting(q) return redis.call('LLEN', IN) - q end

-- rest ends being due when what made an idle session due was taken back.
local function rest(m, q, sid)
  if m.run ~= '1' and waiting(q) == 0 and redis.call('LLEN', SIG) == 0 then
    redis.call('ZREM', DUE, sid)
  end
end
