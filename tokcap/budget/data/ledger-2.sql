-- Version 2: sessions below other sessions, periods, and who holds a grant.
SET LOCAL search_path = @SCHEMA@, pg_temp;
-- Wait for steps that are running; those that come now see the new version.
LOCK TABLE meta IN ACCESS EXCLUSIVE MODE;
UPDATE meta SET version = 2;
-- Tests set the clock of a ledger forward or back.
ALTER TABLE meta ADD COLUMN clock_offset interval NOT NULL DEFAULT '0';

-- `above` has the ids of the sessions above, the nearest first, and is null if there are none. The last one is the
-- root: every step that needs more than one row of a tree locks its row first.
ALTER TABLE sessions ADD COLUMN parent text, ADD COLUMN above bigint[], ADD COLUMN reserved_below bigint NOT NULL DEFAULT 0,
  ADD COLUMN renew text, ADD COLUMN period integer NOT NULL DEFAULT 0, ADD COLUMN period_began timestamptz,
  ADD COLUMN ended_how text;
-- Rows of sessions change in every step; room in the page lets them stay there, so that no index has to follow.
ALTER TABLE sessions SET (fillfactor = 50);
CREATE INDEX below ON sessions (id) WHERE ended IS NULL AND above IS NOT NULL;

-- A grant is plain if its session has none above and is not renewed: then its row says all that settling needs.
ALTER TABLE grants ADD COLUMN root bigint, ADD COLUMN above bigint[], ADD COLUMN is_plain boolean NOT NULL DEFAULT true,
  ADD COLUMN holder text NOT NULL DEFAULT '', ADD COLUMN since timestamptz NOT NULL DEFAULT now();
UPDATE grants SET root = session;
ALTER TABLE grants ALTER COLUMN root SET NOT NULL;
DROP INDEX expiring;
CREATE INDEX expiring ON grants (root, expires);

-- For what was counted and may be corrected: id and period of each session, one after the other.
ALTER TABLE events ADD COLUMN counted_in bigint[];

-- Periods that are over.
CREATE TABLE periods (
  session bigint, period integer, name text NOT NULL, began timestamptz NOT NULL, ended timestamptz NOT NULL,
  total bigint, used bigint NOT NULL, PRIMARY KEY (session, period));
