-- Wakes workers that sleep past the first task that waits, if it is one of those that have just begun to wait.
local function hint(scheduledKey, begun, channel, sharded)
  local first = call('ZRANGE', scheduledKey, 0, 0, 'WITHSCORES')
  if not begun[first[1]] then return end
  local waitMs = max(0, first[2] - now)
  -- A server of before 7.0 has no sharded channels, and its clients listen to plain ones. What was written counts also
  -- where nobody may publish, as is the default of an ACL.
  local sent = sharded == '1' and redis.pcall('SPUBLISH', channel, waitMs)
  if type(sent) ~= 'number' then redis.pcall('PUBLISH', channel, waitMs) end
end
