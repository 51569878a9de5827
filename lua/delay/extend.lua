-- Prolongs the visibility of a run. One that has run out counts, as long as nobody else has claimed the task since.
-- KEYS: tasks, processing (see task.lua).
-- ARGV: id; receipt; visibilityMs.
-- Reply: 1 (prolonged) or 0 (lost)
-- Cost: O(log n) in the tasks that are processed.
-- #include task
-- #include clock

local tasksKey, processingKey = KEYS[1], KEYS[2]
local id, receipt, visibilityMs = ARGV[1], ARGV[2], ARGV[3]

local packed = call('HGET', tasksKey, id)
if not packed or sub(packed, 1, 1) ~= 'R' or sub(packed, 19, HEADER) ~= receipt then return 0 end
call('ZADD', processingKey, now + visibilityMs, id)
return 1
