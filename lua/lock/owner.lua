-- Whose a lock is, by what its holder key says.
local function isOwn(held, token)
  return held and sub(held, 2, #token + 2) == token .. ' '
end

-- Its fence; when it was granted, in ms, if the fence does not say it; and the rest.
local function parts(held)
  local fence, granted, metadata = string.match(held, '^%S+ (%d+)@?(%d*) (.*)$')
  return tonumber(fence), tonumber(granted), metadata
end
