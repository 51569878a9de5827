-- What the operations on a queue share. A queue is five keys of one hash tag:
--   tasks       hash   id -> the task, packed as below; an id is in it as long as the queue knows its task
--   scheduled   zset   id by due time in ms: those that wait
--   processing  zset   id by the end of its visibility in ms: those that were claimed
--   dead        zset   id by time of death in ms
--   fence       string the last fence minted, in case the server's clock goes back; the one that has a TTL
-- Each id of `tasks` is in exactly one of the three sets. Scripts write the bigger part first, so that a server without
-- memory refuses the first write and nothing is half done.
--
-- A packed task that waits for its first claim is 'W' and its payload, as short as can be. Then, numbers big-endian:
--    1 state    1 byte   R running, B back among those that wait, D dead
--    2 attempt  4 bytes  claims so far
--    6 fence    7 bytes  of the last claim
--   13 due      6 bytes  ms; when it was to run first
--   19 receipt 22 bytes  of the last claim; dashes when no receipt counts
--   41 payload           JSON; of a dead task 4 bytes for the length of its error, the error, then the payload
-- Twin: packages/core/src/delay/memory-store.ts
local call, pack, read, spread = redis.call, struct.pack, struct.unpack, unpack
local floor, max, min, sub = math.floor, math.max, math.min, string.sub
local HEADER = 40
local NO_RECEIPT = string.rep('-', 22)

local function packTask(state, attempt, fence, due, receipt, rest)
  return state .. pack('>I4I7I6', attempt, fence, due) .. receipt .. rest
end

local function withError(problem, payload)
  return pack('>I4', #problem) .. problem .. payload
end
