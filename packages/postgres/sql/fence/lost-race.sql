-- After a serialization failure: what was committed meanwhile? The caller's transaction is lost already, and its
-- snapshot would never show it. A new one of the same kind looks, and fails on purpose, so that the caller finds what
-- it had: a transaction that can only be rolled back. The error's message brings the number.
-- {id} SHA-256 of the resource, in hex
ROLLBACK AND CHAIN;
SELECT ('accepted:' || coalesce((SELECT fence FROM sluice.fences WHERE id = '\x{id}'), 0))::integer
