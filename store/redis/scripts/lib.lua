-- Shared by all scripts: stands before each of them.

-- now is the server's clock, in microseconds since 1970. Doubles hold that
-- exactly; %.14g, which tostring uses, does not.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2]
end

local function int(n) return string.format('%.0f', n) end

local function num(s) return tonumber(s or '0') end

local function fail(code) return redis.error_reply(code) end
