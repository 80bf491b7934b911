-- The tables of the ledger in PostgreSQL. @SCHEMA@ is replaced by the name of the schema. This file and `steps.sql` run
-- in one transaction.
CREATE SCHEMA IF NOT EXISTS @SCHEMA@;
SET LOCAL search_path = @SCHEMA@, pg_temp;

-- Tests set the clock of a ledger forward or back.
CREATE TABLE meta (version integer NOT NULL, clock_offset interval NOT NULL DEFAULT '0');
INSERT INTO meta (version) VALUES (1);

-- An ended session keeps its row as history; its name is free again. `above` has the ids of the sessions above, the
-- nearest first, and is null if there are none. The last one is the root: every step that needs more than one row of a
-- tree locks its row first. Rows change in every step; room in the page lets them stay there, so that no index has to
-- follow.
CREATE TABLE sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL, created timestamptz NOT NULL DEFAULT now(), ended timestamptz, ended_by bigint, ended_how text,
  total bigint, context_window bigint, result_pct text, turn_pct text, floor_tokens bigint,
  result_millionths bigint, turn_millionths bigint, parent text, above bigint[],
  renew text, period integer NOT NULL DEFAULT 0, period_began timestamptz,
  used bigint NOT NULL DEFAULT 0, reserved bigint NOT NULL DEFAULT 0, reserved_below bigint NOT NULL DEFAULT 0,
  window_used bigint NOT NULL DEFAULT 0, context bigint NOT NULL DEFAULT 0, noted bigint NOT NULL DEFAULT 0)
WITH (fillfactor = 50);
CREATE UNIQUE INDEX running ON sessions (name) WHERE ended IS NULL;
CREATE INDEX ended_by ON sessions (ended_by) WHERE ended_by IS NOT NULL;
CREATE INDEX below ON sessions (id) WHERE ended IS NULL AND above IS NOT NULL;

-- A grant is plain if its session has none above and is not renewed: then its row says all that settling needs.
CREATE TABLE grants (
  id bigint PRIMARY KEY, session bigint NOT NULL, root bigint NOT NULL, above bigint[], is_plain boolean NOT NULL,
  tokens bigint NOT NULL, granted text NOT NULL, turn text NOT NULL, announced bigint NOT NULL DEFAULT 0,
  lease interval NOT NULL, expires timestamptz NOT NULL, holder text NOT NULL, since timestamptz NOT NULL);
CREATE INDEX expiring ON grants (root, expires);

CREATE TABLE turns (
  session bigint, turn text, used bigint NOT NULL DEFAULT 0, reserved bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (session, turn));

-- The history. An id is that of the grant or the call that was counted, so that it is counted once. `counted_in` has id
-- and period of each session, one after the other, for what was counted and may be corrected.
CREATE TABLE events (
  id bigint PRIMARY KEY, session bigint NOT NULL, time timestamptz NOT NULL DEFAULT now(), kind text NOT NULL,
  tokens bigint NOT NULL, turn text NOT NULL DEFAULT '', counted_in bigint[]);
CREATE INDEX by_session ON events (session, time);

CREATE TABLE records (session bigint, key text, PRIMARY KEY (session, key));
CREATE TABLE shown (
  session bigint, key text, handle text NOT NULL, noted bigint NOT NULL, PRIMARY KEY (session, key));

-- Periods that are over.
CREATE TABLE periods (
  session bigint, period integer, name text NOT NULL, began timestamptz NOT NULL, ended timestamptz NOT NULL,
  total bigint, used bigint NOT NULL, PRIMARY KEY (session, period));
