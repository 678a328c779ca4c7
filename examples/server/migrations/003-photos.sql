-- Photos of workouts: their bytes beside their rows, in the transaction that writes their receipt.
create table demo_photos (
  owner       text        not null,
  id          text        not null,
  workout     text        not null,
  type        text        not null,
  bytes       bytea       not null,
  created_at  timestamptz not null default now(),
  deleted_at  timestamptz,
  primary key (owner, id)
);
create index demo_photos_by_workout on demo_photos (owner, workout, created_at, id) where deleted_at is null;
