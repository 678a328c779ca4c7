-- The demo's own tables. The ledger knows nothing of them.

create table demo_sessions (
  token_hash  text primary key,
  owner       text        not null,
  expires_at  timestamptz not null
);

-- One number per account: how many changes its derived data (statistics) has seen.
create table demo_generations (
  owner       text   primary key,
  generation  bigint not null
);

-- Records: the server gives the id. A deleted one stays as a tombstone, so that it is known to be gone.
create table demo_workouts (
  owner       text        not null,
  id          text        not null,
  revision    integer     not null,
  body        json        not null,
  day         text        not null,
  created_at  timestamptz not null default now(),
  deleted_at  timestamptz,
  primary key (owner, id)
);
create index demo_workouts_by_day on demo_workouts (owner, day desc, id) where deleted_at is null;

-- Documents: the page gives the id, a date. Revisions go on rising over a removal.
create table demo_plans (
  owner       text        not null,
  day         text        not null,
  revision    integer     not null,
  body        json,
  removed_at  timestamptz,
  primary key (owner, day)
);

-- For tests only: one line per effect, written beside the effect and not derived from the ledger, so that a
-- key that was applied twice shows.
create table demo_effects (
  n             bigint generated always as identity primary key,
  owner         text    not null,
  id            text    not null,
  request_hash  text    not null,
  family        text    not null,
  kind          text    not null,
  target        text    not null,
  revision      integer not null
);
