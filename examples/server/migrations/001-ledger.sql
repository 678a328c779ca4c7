-- The ledger (V1): what became of every idempotency key, written in the transaction of the change itself.
-- Copy this file as it is. The primary key is what makes a key apply once: a second request for the same key
-- waits on it until the first one's transaction has ended.
create table holdfast_ledger (
  owner         text        not null,
  id            text        not null,                  -- the idempotency key
  request_hash  text        not null,
  family        text        not null,
  kind          text        not null,                  -- the wire kind, such as workout.update
  source_ref    text,
  state         text        not null default 'open',   -- 'open' is never seen outside of its transaction
  status        smallint,                              -- the HTTP status of the first answer
  target        text,
  revision      integer,
  generation    bigint,
  refusal       json,                                  -- a refusal for good, repeated to whoever asks again
  committed_at  timestamptz not null default clock_timestamp(),
  primary key (owner, id),
  check (state in ('open', 'applied', 'refused')),
  check (state <> 'applied' or (target is not null and revision >= 1 and generation >= 0)),
  check (state <> 'refused' or refusal is not null)
);

-- For the purge, which walks from the oldest entry on.
create index holdfast_ledger_by_age on holdfast_ledger (committed_at);
