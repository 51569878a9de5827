-- The records of idempotency: one row a key. Twin: lua/idempotency/record.lua
CREATE TABLE sluice.records (
  id bytea PRIMARY KEY,              -- SHA-256 of scope and key: they may be of any length, and hold any character
  number bigint GENERATED ALWAYS AS IDENTITY,
  subject text NOT NULL,             -- JSON: [scope, key]
  state text NOT NULL CHECK (state IN ('claimed', 'completed', 'tombstone', 'unknown', 'free')),
  attempt integer NOT NULL,
  fence bigint NOT NULL,             -- the last one granted
  since timestamptz NOT NULL,        -- when the state began
  lease_end timestamptz,             -- claimed only; a claim whose lease is over is read as unknown since then
  expires_at timestamptz NOT NULL,   -- a row past it counts for nothing, and is removed by cleanup
  own_ttl interval,                  -- unknown only: how long its owner wanted the result kept, for the operator who
                                     -- confirms it; of a claim, that is the time from lease_end to expires_at
  owner text NOT NULL,               -- token of the claim; dashes when the operator settled it
  fingerprint text NOT NULL,
  caller text NOT NULL,
  late boolean NOT NULL DEFAULT false, -- settled although the lease was over
  payload bytea                      -- the response or the tombstone
);
CREATE INDEX records_expires_at ON sluice.records (expires_at);
CREATE INDEX records_open ON sluice.records (number) WHERE state IN ('claimed', 'unknown');

-- The highest fence accepted for each resource. Its rows stay: a fence that is forgotten protects nothing.
CREATE TABLE sluice.fences (
  id bytea PRIMARY KEY,              -- SHA-256 of the resource
  resource text NOT NULL,            -- for people
  fence bigint NOT NULL,
  accepted_at timestamptz NOT NULL
);

-- Messages that were committed with the changes they tell of.
CREATE TABLE sluice.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- rises within an aggregate as its transactions commit
  aggregate text NOT NULL,
  type text NOT NULL,
  payload json NOT NULL,
  added_at timestamptz NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL,       -- not to be claimed before: while a relay has it, and after a failure
  claimed_by text,                   -- token of the relay that has it
  error json,                        -- of the last failure: its name and its message
  dead_at timestamptz,
  delivered_at timestamptz
);
CREATE INDEX outbox_pending ON sluice.outbox (id) WHERE delivered_at IS NULL AND dead_at IS NULL;
CREATE INDEX outbox_order ON sluice.outbox (aggregate, id) WHERE delivered_at IS NULL;
CREATE INDEX outbox_dead ON sluice.outbox (id) WHERE dead_at IS NOT NULL;
CREATE INDEX outbox_delivered ON sluice.outbox (delivered_at) WHERE delivered_at IS NOT NULL;
