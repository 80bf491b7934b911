-- The tables of the ledger in PostgreSQL, version 1. @SCHEMA@ is replaced by the name of the schema.
-- All migrations and `steps.sql` run in one transaction.
CREATE SCHEMA IF NOT EXISTS @SCHEMA@;
SET LOCAL search_path = @SCHEMA@, pg_temp;

CREATE TABLE meta (version integer NOT NULL);
INSERT INTO meta VALUES (1);

-- An ended session keeps its row as history; its name is free again.
CREATE TABLE sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL, created timestamptz NOT NULL DEFAULT now(), ended timestamptz, ended_by bigint,
  total bigint, context_window bigint, result_pct text, turn_pct text, floor_tokens bigint,
  result_millionths bigint, turn_millionths bigint,
  used bigint NOT NULL DEFAULT 0, reserved bigint NOT NULL DEFAULT 0, window_used bigint NOT NULL DEFAULT 0,
  context bigint NOT NULL DEFAULT 0, noted bigint NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX running ON sessions (name) WHERE ended IS NULL;
CREATE INDEX ended_by ON sessions (ended_by) WHERE ended_by IS NOT NULL;

CREATE TABLE grants (
  id bigint PRIMARY KEY, session bigint NOT NULL, tokens bigint NOT NULL, granted text NOT NULL, turn text NOT NULL,
  announced bigint NOT NULL DEFAULT 0, lease interval NOT NULL, expires timestamptz NOT NULL);
CREATE INDEX expiring ON grants (session, expires);

CREATE TABLE turns (
  session bigint, turn text, used bigint NOT NULL DEFAULT 0, reserved bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (session, turn));

-- The history. An id is that of the grant or the call that was counted, so that it is counted once.
CREATE TABLE events (
  id bigint PRIMARY KEY, session bigint NOT NULL, time timestamptz NOT NULL DEFAULT now(), kind text NOT NULL,
  tokens bigint NOT NULL, turn text NOT NULL DEFAULT '');
CREATE INDEX by_session ON events (session, time);

CREATE TABLE records (session bigint, key text, PRIMARY KEY (session, key));
CREATE TABLE shown (
  session bigint, key text, handle text NOT NULL, noted bigint NOT NULL, PRIMARY KEY (session, key));
