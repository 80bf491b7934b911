-- The ledger in PostgreSQL. @SCHEMA@ is replaced by the name of the schema. All of this runs in one transaction.
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

CREATE FUNCTION account(s sessions) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY[coalesce(s.total::text, ''), coalesce(s.context_window::text, ''), coalesce(s.result_pct, ''),
    coalesce(s.turn_pct, ''), coalesce(s.floor_tokens::text, ''), s.used::text, s.reserved::text, s.window_used::text]
$$;

-- Count tokens in a session whose row is locked. They may be less than 0, to take something back.
CREATE FUNCTION use(of_session bigint, in_turn text, more bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sessions SET used = used + more, window_used = greatest(window_used + more, 0) WHERE id = of_session;
  IF in_turn <> '' THEN
    INSERT INTO turns AS t (session, turn, used) VALUES (of_session, in_turn, more)
    ON CONFLICT (session, turn) DO UPDATE SET used = t.used + more;
  END IF;
END $$;

-- Free grants of a session whose row is locked: return those that were still held.
CREATE FUNCTION free(of_session bigint, grant_id bigint) RETURNS SETOF grants LANGUAGE plpgsql AS $$
DECLARE g grants;
BEGIN
  FOR g IN DELETE FROM grants WHERE session = of_session
    AND CASE WHEN grant_id IS NULL THEN expires <= clock_timestamp() ELSE id = grant_id END RETURNING *
  LOOP
    UPDATE sessions SET reserved = reserved - g.tokens WHERE id = of_session;
    IF g.turn <> '' THEN
      UPDATE turns SET reserved = reserved - g.tokens WHERE session = of_session AND turn = g.turn;
    END IF;
    RETURN NEXT g;
  END LOOP;
END $$;

-- Free grants that were not settled, and count what they announced: one of them, or all that have expired.
CREATE FUNCTION give_up(of_session bigint, grant_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE g grants;
BEGIN
  FOR g IN SELECT * FROM free(of_session, grant_id) LOOP
    PERFORM use(of_session, g.turn, g.announced);
    -- A grant whose answer was lost may have expired before, and was reserved again under the same id.
    INSERT INTO events AS e (id, session, kind, tokens, turn)
    VALUES (g.id, of_session, 'unsettled', g.announced, g.turn)
    ON CONFLICT (id) DO UPDATE SET tokens = e.tokens + excluded.tokens;
  END LOOP;
END $$;

-- Lock a session, so that nothing of it changes until the step ends, and free what has expired.
CREATE FUNCTION locked(of_session bigint) RETURNS sessions LANGUAGE plpgsql AS $$
DECLARE s sessions;
BEGIN
  SELECT * INTO s FROM sessions WHERE id = of_session FOR UPDATE;
  IF EXISTS (SELECT FROM grants WHERE session = of_session AND expires <= clock_timestamp()) THEN
    PERFORM give_up(of_session, NULL);
    SELECT * INTO s FROM sessions WHERE id = of_session;
  END IF;
  RETURN s;
END $$;

CREATE FUNCTION running(of_name text) RETURNS sessions LANGUAGE plpgsql AS $$
DECLARE s sessions;
BEGIN
  SELECT * INTO s FROM sessions WHERE name = of_name AND ended IS NULL FOR UPDATE;
  IF NOT FOUND THEN
    -- It may have been reset while this waited for the lock. The next statement sees the new one.
    SELECT * INTO s FROM sessions WHERE name = of_name AND ended IS NULL FOR UPDATE;
    IF NOT FOUND THEN RETURN NULL; END IF;
  END IF;
  IF EXISTS (SELECT FROM grants WHERE session = s.id AND expires <= clock_timestamp()) THEN
    PERFORM give_up(s.id, NULL);
    SELECT * INTO s FROM sessions WHERE id = s.id;
  END IF;
  RETURN s;
END $$;

CREATE FUNCTION fresh(of_session bigint) RETURNS text[] LANGUAGE sql AS $$
  SELECT account(s) FROM sessions s WHERE id = of_session
$$;

CREATE FUNCTION finish(of_session bigint, call_id bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE sessions SET ended = now(), ended_by = call_id WHERE id = of_session;
  DELETE FROM records WHERE session = of_session;
  DELETE FROM shown WHERE session = of_session;
$$;

CREATE FUNCTION reserve(s sessions, w text[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  grant_id bigint := w[3]::bigint; requested bigint := nullif(w[4], '')::bigint; in_turn text := w[5];
  taken bigint; least_tokens bigint := requested;
  -- The window of the call replaces that of the session; its shares fill in what the session was not given.
  size bigint := nullif(w[7], '')::bigint; result bigint := nullif(w[8], '')::bigint;
  of_turn bigint := nullif(w[9], '')::bigint; floor_tokens bigint := nullif(w[10], '')::bigint;
  refused text[]; held text;
BEGIN
  SELECT granted INTO held FROM grants WHERE id = grant_id;
  IF FOUND THEN RETURN ARRAY['again', held, ''] || account(s); END IF;
  IF in_turn <> '' THEN
    SELECT coalesce(sum(used + reserved), 0) INTO taken FROM turns WHERE session = s.id AND turn = in_turn;
  END IF;
  refused := ARRAY['refused', '', coalesce(taken::text, '')] || account(s);
  IF s.total IS NOT NULL THEN
    IF s.total - s.used - s.reserved <= 0 THEN RETURN refused; END IF;
    least_tokens := least(least_tokens, s.total - s.used - s.reserved);
  END IF;
  IF size IS NULL AND s.context_window IS NOT NULL THEN
    size := s.context_window;
    result := coalesce(s.result_millionths, w[11]::bigint);
    of_turn := coalesce(s.turn_millionths, w[12]::bigint);
    floor_tokens := coalesce(s.floor_tokens, w[13]::bigint);
  END IF;
  IF size IS NOT NULL THEN
    IF taken IS NOT NULL THEN
      IF size * of_turn / 1000000 - taken <= 0 THEN RETURN refused; END IF;
      least_tokens := least(least_tokens, size * of_turn / 1000000 - taken);
    END IF;
    least_tokens := least(least_tokens, greatest(floor_tokens,
      least(size * result / 1000000, greatest(size - s.window_used - s.reserved, 0))));
  END IF;
  IF least_tokens = 0 AND requested IS DISTINCT FROM 0 THEN RETURN refused; END IF;
  INSERT INTO grants (id, session, tokens, granted, turn, lease, expires)
  SELECT grant_id, s.id, coalesce(least_tokens, 0), coalesce(least_tokens::text, ''), in_turn, lease,
    clock_timestamp() + lease FROM (SELECT w[6]::bigint * interval '1 millisecond' AS lease) AS given;
  UPDATE sessions SET reserved = reserved + coalesce(least_tokens, 0) WHERE id = s.id;
  IF in_turn <> '' THEN
    INSERT INTO turns AS t (session, turn, reserved) VALUES (s.id, in_turn, coalesce(least_tokens, 0))
    ON CONFLICT (session, turn) DO UPDATE SET reserved = t.reserved + coalesce(least_tokens, 0);
  END IF;
  RETURN ARRAY['ok', coalesce(least_tokens::text, ''), coalesce(taken::text, '')] || account(s);
END $$;

CREATE FUNCTION settle(of_name text, grant_id bigint, in_turn text, more bigint, of_kind text)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE of_session bigint; s sessions; before events; held grants; status text := 'ok';
BEGIN
  SELECT session INTO of_session FROM grants WHERE id = grant_id;
  IF NOT FOUND THEN SELECT session INTO of_session FROM events WHERE id = grant_id; END IF;
  IF of_session IS NULL THEN
    s := running(of_name);
    IF s.id IS NULL THEN RETURN ARRAY['none']; END IF;
    status := 'unknown';
  ELSE
    s := locked(of_session);
  END IF;
  DELETE FROM grants WHERE id = grant_id RETURNING * INTO held;
  SELECT * INTO before FROM events WHERE id = grant_id;
  IF before.kind = 'unsettled' THEN
    PERFORM use(s.id, before.turn, -before.tokens);
    DELETE FROM events WHERE id = grant_id;
  ELSIF FOUND THEN
    s := running(of_name);
    RETURN CASE WHEN s.id IS NULL THEN ARRAY['none'] ELSE ARRAY['ok'] || account(s) END;
  END IF;
  INSERT INTO events (id, session, kind, tokens, turn) VALUES (grant_id, s.id, of_kind, more, in_turn);
  UPDATE sessions SET used = used + more, window_used = greatest(window_used + more, 0),
    reserved = reserved - coalesce(held.tokens, 0) WHERE id = s.id RETURNING * INTO s;
  IF in_turn <> '' THEN
    INSERT INTO turns AS t (session, turn, used) VALUES (s.id, in_turn, more)
    ON CONFLICT (session, turn) DO UPDATE SET used = t.used + more, reserved = t.reserved - coalesce(held.tokens, 0);
  END IF;
  RETURN ARRAY[status] || account(s);
END $$;

-- One step: its name, and its arguments; an empty argument means none.
CREATE FUNCTION step(known integer, w text[]) RETURNS text[] LANGUAGE plpgsql
SECURITY DEFINER SET search_path = @SCHEMA@, pg_temp AS $$
DECLARE s sessions; number bigint; found_version integer; answer text[]; row_id bigint;
BEGIN
  SELECT version INTO found_version FROM meta;
  IF found_version > known THEN RETURN ARRAY['newer', found_version::text, known::text]; END IF;
  IF found_version < known THEN RETURN ARRAY['older', found_version::text]; END IF;
  IF w[1] = 'renew' OR w[1] = 'announce' THEN
    UPDATE grants SET expires = clock_timestamp() + lease,
      announced = CASE WHEN w[1] = 'announce' THEN greatest(announced, w[3]::bigint) ELSE announced END
    WHERE id = w[2]::bigint;
    RETURN ARRAY['ok'];
  ELSIF w[1] = 'settle' THEN
    RETURN settle(w[2], w[3]::bigint, w[4], w[5]::bigint, w[6]);
  ELSIF w[1] = 'list' THEN
    FOR row_id IN SELECT id FROM sessions WHERE ended IS NULL AND EXISTS (
      SELECT FROM grants WHERE session = sessions.id AND expires <= clock_timestamp()) ORDER BY id
    LOOP PERFORM locked(row_id); END LOOP;
    answer := ARRAY['ok'];
    FOR s IN SELECT * FROM sessions WHERE ended IS NULL ORDER BY id LOOP
      answer := answer || ARRAY[s.name, round(extract(epoch FROM s.created) * 1000)::text] || account(s);
    END LOOP;
    RETURN answer;
  ELSIF w[1] = 'start' THEN
    INSERT INTO sessions (name, total, context_window, result_pct, turn_pct, floor_tokens, result_millionths,
      turn_millionths)
    VALUES (w[2], nullif(w[3], '')::bigint, nullif(w[4], '')::bigint, nullif(w[5], ''), nullif(w[6], ''),
      nullif(w[7], '')::bigint, nullif(w[8], '')::bigint, nullif(w[9], '')::bigint)
    ON CONFLICT (name) WHERE ended IS NULL DO NOTHING RETURNING * INTO s;
    IF FOUND THEN RETURN ARRAY['ok'] || account(s); END IF;
  ELSIF w[1] = 'end' THEN
    -- The answer to the first attempt may have been lost.
    SELECT * INTO s FROM sessions WHERE ended_by = w[3]::bigint;
    IF FOUND THEN RETURN ARRAY['ok'] || account(s); END IF;
  END IF;
  IF w[1] = 'release' THEN
    SELECT session INTO row_id FROM grants WHERE id = w[3]::bigint;
    IF FOUND THEN PERFORM locked(row_id), give_up(row_id, w[3]::bigint); END IF;
  END IF;
  s := running(w[2]);
  IF s.id IS NULL THEN RETURN ARRAY['none']; END IF;
  CASE w[1]
  WHEN 'start' THEN RETURN ARRAY['exists'] || account(s);
  WHEN 'read', 'release' THEN RETURN ARRAY['ok'] || account(s);
  WHEN 'reserve' THEN RETURN reserve(s, w);
  WHEN 'end' THEN
    PERFORM finish(s.id, w[3]::bigint);
    RETURN ARRAY['ok'] || account(s);
  WHEN 'reset' THEN
    PERFORM FROM sessions WHERE ended_by = w[3]::bigint;
    IF NOT FOUND THEN
      PERFORM finish(s.id, w[3]::bigint);
      INSERT INTO sessions (name, total, context_window, result_pct, turn_pct, floor_tokens, result_millionths,
        turn_millionths)
      VALUES (s.name, s.total, s.context_window, s.result_pct, s.turn_pct, s.floor_tokens, s.result_millionths,
        s.turn_millionths) RETURNING * INTO s;
    END IF;
    RETURN ARRAY['ok'] || account(s);
  WHEN 'record' THEN
    PERFORM FROM events WHERE id = w[3]::bigint;
    IF FOUND THEN RETURN ARRAY['ok'] || account(s); END IF;
    IF w[5] <> '' THEN
      INSERT INTO records VALUES (s.id, w[5]) ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN RETURN ARRAY['before'] || account(s); END IF;
    END IF;
    number := w[4]::bigint;
    INSERT INTO events (id, session, kind, tokens) VALUES (w[3]::bigint, s.id, 'record', number);
    UPDATE sessions SET used = used + number, window_used = greatest(window_used, number) WHERE id = s.id;
    RETURN ARRAY['ok'] || fresh(s.id);
  WHEN 'compacted' THEN
    UPDATE sessions SET window_used = w[3]::bigint, context = context + 1 WHERE id = s.id;
    DELETE FROM shown WHERE session = s.id;
    RETURN ARRAY['ok'] || fresh(s.id);
  WHEN 'shown' THEN
    RETURN ARRAY['ok', s.id || '.' || s.context] || ARRAY(
      SELECT coalesce(handle, '') FROM unnest(w[3:]) WITH ORDINALITY AS asked (key, place)
      LEFT JOIN shown ON shown.session = s.id AND shown.key = asked.key ORDER BY place);
  WHEN 'note_shown' THEN
    IF w[3] <> s.id || '.' || s.context THEN RETURN ARRAY['gone']; END IF;
    INSERT INTO shown (session, key, handle, noted)
    SELECT s.id, w[2 * n + 2], w[2 * n + 3], s.noted + n FROM generate_series(1, (cardinality(w) - 3) / 2) AS n
    ON CONFLICT (session, key) DO UPDATE SET handle = excluded.handle, noted = excluded.noted;
    UPDATE sessions SET noted = noted + cardinality(w) WHERE id = s.id;
    DELETE FROM shown WHERE session = s.id AND noted <= (
      SELECT noted FROM shown WHERE session = s.id ORDER BY noted DESC OFFSET 1000 LIMIT 1);
    RETURN ARRAY['ok'];
  WHEN 'turn' THEN
    SELECT coalesce(sum(used + reserved), 0) INTO number FROM turns WHERE session = s.id AND turn = w[3];
    RETURN ARRAY['ok', number::text];
  END CASE;
END $$;
