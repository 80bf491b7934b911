-- The functions of the ledger in PostgreSQL. `step` is the only one that users call.
SET LOCAL search_path = @SCHEMA@, pg_temp;

-- STABLE, as `extract` is: else the server could not put them into the expressions that use them, and each call would
-- be read and planned again.
CREATE FUNCTION milliseconds(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT round(extract(epoch FROM at) * 1000)::bigint::text
$$;

CREATE FUNCTION account(s sessions) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT ARRAY[coalesce(s.total::text, ''), coalesce(s.context_window::text, ''), coalesce(s.result_pct, ''),
    coalesce(s.turn_pct, ''), coalesce(s.floor_tokens::text, ''), s.used::text, s.reserved::text, s.window_used::text,
    s.reserved_below::text, coalesce(s.parent, ''), coalesce(s.renew, ''), coalesce(milliseconds(s.period_began), '')]
$$;

-- The account of a session, and of those above it.
CREATE FUNCTION accounts(s sessions, of_above bigint[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE texts text[] := account(s); a sessions;
BEGIN
  IF of_above IS NOT NULL THEN
    FOR a IN SELECT sessions.* FROM unnest(of_above) WITH ORDINALITY AS asked (id, place)
      JOIN sessions USING (id) ORDER BY place
    LOOP
      texts := texts || ARRAY[a.name, coalesce(a.total::text, ''), a.used::text, a.reserved::text];
    END LOOP;
  END IF;
  RETURN texts;
END $$;

CREATE FUNCTION fresh(of_session bigint) RETURNS text[] LANGUAGE sql AS $$
  SELECT accounts(s, s.above) FROM sessions s WHERE id = of_session
$$;

-- Periods begin and end in UTC; weeks begin on Monday.
CREATE FUNCTION start_of(renew text, at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT date_trunc(renew, at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
$$;
CREATE FUNCTION end_of(renew text, at timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT (date_trunc(renew, at AT TIME ZONE 'UTC') + ('1 ' || renew)::interval) AT TIME ZONE 'UTC'
$$;

-- Begin a new period of a session whose root is locked, if its present one is over.
CREATE FUNCTION renewed(s sessions, at timestamptz) RETURNS sessions LANGUAGE plpgsql AS $$
BEGIN
  IF s.renew IS NULL OR s.ended IS NOT NULL OR start_of(s.renew, at) <= s.period_began THEN RETURN s; END IF;
  INSERT INTO periods VALUES (s.id, s.period, s.name, s.period_began, end_of(s.renew, s.period_began), s.total, s.used);
  UPDATE sessions SET used = 0, period = period + 1, period_began = start_of(renew, at) WHERE id = s.id RETURNING * INTO s;
  RETURN s;
END $$;

CREATE FUNCTION renew_all(ids bigint[], at timestamptz) RETURNS void LANGUAGE sql AS $$
  SELECT renewed(s, at) FROM sessions s WHERE id = ANY (ids) AND renew IS NOT NULL AND ended IS NULL
$$;

-- Count tokens in a session and in those above it. They may be less than 0, to take something back.
CREATE FUNCTION use(of_session bigint, of_above bigint[], in_turn text, more bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sessions SET used = used + more, window_used = greatest(window_used + more, 0) WHERE id = of_session;
  IF of_above IS NOT NULL THEN UPDATE sessions SET used = used + more WHERE id = ANY (of_above); END IF;
  IF in_turn <> '' THEN
    INSERT INTO turns AS t (session, turn, used) VALUES (of_session, in_turn, more)
    ON CONFLICT (session, turn) DO UPDATE SET used = t.used + more;
  END IF;
END $$;

-- Reserve tokens in a session and in those above it, or free them if they are less than 0.
CREATE FUNCTION hold(of_session bigint, of_above bigint[], in_turn text, more bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sessions SET reserved = reserved + more WHERE id = of_session;
  IF of_above IS NOT NULL THEN
    UPDATE sessions SET reserved = reserved + more, reserved_below = reserved_below + more WHERE id = ANY (of_above);
  END IF;
  IF in_turn <> '' THEN
    INSERT INTO turns AS t (session, turn, reserved) VALUES (of_session, in_turn, more)
    ON CONFLICT (session, turn) DO UPDATE SET reserved = t.reserved + more;
  END IF;
END $$;

-- Free a grant that was not settled, and count what it announced. The root is locked, and so is the grant.
CREATE FUNCTION give_up(g grants, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE places bigint[];
BEGIN
  DELETE FROM grants WHERE id = g.id;
  PERFORM renew_all(g.session || g.above, at);
  PERFORM hold(g.session, g.above, g.turn, -g.tokens), use(g.session, g.above, g.turn, g.announced);
  SELECT array_agg(number ORDER BY place, what) INTO places FROM (
    SELECT place, what, CASE what WHEN 1 THEN s.id ELSE s.period END AS number
    FROM unnest(g.session || g.above) WITH ORDINALITY AS asked (id, place) JOIN sessions s USING (id),
    generate_series(1, 2) AS what) AS pairs;
  -- A grant whose answer was lost may have expired before, and was reserved again under the same id.
  INSERT INTO events AS e (id, session, kind, tokens, turn, counted_in)
  VALUES (g.id, g.session, 'unsettled', g.announced, g.turn, places)
  ON CONFLICT (id) DO UPDATE SET tokens = e.tokens + excluded.tokens;
END $$;

-- Free what has expired in a tree whose root is locked. A grant that is being settled or renewed is skipped.
CREATE FUNCTION free_expired(of_root bigint, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE g grants;
BEGIN
  FOR g IN SELECT * FROM grants WHERE root = of_root AND expires <= at ORDER BY id FOR UPDATE SKIP LOCKED LOOP
    PERFORM give_up(g, at);
  END LOOP;
END $$;

-- Lock the root of a running session, so that nothing of the tree changes until the step ends; free what has expired,
-- begin new periods, and return the session. Null if there is none.
CREATE FUNCTION running(of_name text, shift interval) RETURNS sessions LANGUAGE plpgsql AS $$
DECLARE s sessions; of_root bigint; locked_root bigint := 0; at timestamptz;
BEGIN
  -- Most sessions have none above.
  SELECT * INTO s FROM sessions WHERE name = of_name AND ended IS NULL AND above IS NULL FOR UPDATE;
  IF FOUND THEN
    of_root := s.id;
  ELSE
    LOOP
      -- It is below another one, or was reset while this waited for the lock. Each statement sees what is new.
      SELECT * INTO s FROM sessions WHERE name = of_name AND ended IS NULL;
      IF NOT FOUND THEN RETURN NULL; END IF;
      of_root := coalesce(s.above[cardinality(s.above)], s.id);
      EXIT WHEN of_root = locked_root;
      PERFORM FROM sessions WHERE id = of_root AND ended IS NULL FOR UPDATE;
      locked_root := of_root;
    END LOOP;
  END IF;
  at := clock_timestamp() + shift;
  IF EXISTS (SELECT FROM grants WHERE root = of_root AND expires <= at) THEN
    PERFORM free_expired(of_root, at);
    SELECT * INTO s FROM sessions WHERE id = s.id;
  END IF;
  IF s.above IS NOT NULL THEN PERFORM renew_all(s.above, at); END IF;
  IF s.renew IS NULL THEN RETURN s; END IF;
  RETURN renewed(s, at);
END $$;

CREATE FUNCTION reserve(s sessions, w text[], shift interval) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  grant_id bigint := w[3]::bigint; requested bigint := nullif(w[4], '')::bigint; in_turn text := w[5];
  taken bigint; least_tokens bigint := requested; above_left bigint; lease interval; at timestamptz;
  -- The window of the call replaces that of the session; its shares fill in what the session was not given.
  size bigint := nullif(w[7], '')::bigint; result bigint := nullif(w[8], '')::bigint;
  of_turn bigint := nullif(w[9], '')::bigint; floor_tokens bigint := nullif(w[10], '')::bigint;
  is_refused boolean := false; numbers text[]; held text;
BEGIN
  IF in_turn <> '' THEN
    SELECT coalesce(sum(used + reserved), 0) INTO taken FROM turns WHERE session = s.id AND turn = in_turn;
  END IF;
  IF s.total IS NOT NULL THEN
    is_refused := s.total - s.used - s.reserved <= 0;
    least_tokens := least(least_tokens, s.total - s.used - s.reserved);
  END IF;
  IF s.above IS NOT NULL THEN
    SELECT min(total - used - reserved) INTO above_left FROM sessions WHERE id = ANY (s.above) AND total IS NOT NULL;
    is_refused := is_refused OR coalesce(above_left <= 0, false);
    least_tokens := least(least_tokens, above_left);
  END IF;
  IF size IS NULL AND s.context_window IS NOT NULL THEN
    size := s.context_window;
    result := coalesce(s.result_millionths, w[11]::bigint);
    of_turn := coalesce(s.turn_millionths, w[12]::bigint);
    floor_tokens := coalesce(s.floor_tokens, w[13]::bigint);
  END IF;
  IF size IS NOT NULL THEN
    IF taken IS NOT NULL THEN
      is_refused := is_refused OR size * of_turn / 1000000 - taken <= 0;
      least_tokens := least(least_tokens, size * of_turn / 1000000 - taken);
    END IF;
    least_tokens := least(least_tokens, greatest(floor_tokens, least(size * result / 1000000,
      greatest(size - s.window_used - s.reserved + s.reserved_below, 0))));
  END IF;
  is_refused := is_refused OR (coalesce(least_tokens = 0, false) AND requested IS DISTINCT FROM 0);
  IF s.above IS NULL THEN numbers := account(s); ELSE numbers := accounts(s, s.above); END IF;
  IF NOT is_refused THEN
    lease := w[6]::bigint * interval '1 millisecond';
    at := clock_timestamp() + shift;
    INSERT INTO grants (id, session, tokens, granted, turn, lease, expires, root, above, is_plain, holder, since)
    VALUES (grant_id, s.id, coalesce(least_tokens, 0), coalesce(least_tokens::text, ''), in_turn, lease, at + lease,
      coalesce(s.above[cardinality(s.above)], s.id), s.above, s.above IS NULL AND s.renew IS NULL,
      w[14], at)
    ON CONFLICT (id) DO NOTHING;
    IF FOUND THEN
      IF s.above IS NULL AND in_turn = '' THEN
        UPDATE sessions SET reserved = reserved + coalesce(least_tokens, 0) WHERE id = s.id;
      ELSE
        PERFORM hold(s.id, s.above, in_turn, coalesce(least_tokens, 0));
      END IF;
      RETURN ARRAY['ok', coalesce(least_tokens::text, ''), coalesce(taken::text, '')] || numbers;
    END IF;
  END IF;
  -- The answer to an earlier attempt was lost, and that one may have taken what is missing now.
  SELECT granted INTO held FROM grants WHERE id = grant_id;
  IF FOUND THEN RETURN ARRAY['again', held, ''] || numbers; END IF;
  RETURN ARRAY['refused', '', coalesce(taken::text, '')] || numbers;
END $$;

-- The answer about a running session of this name, if there is one.
CREATE FUNCTION named(of_name text, shift interval) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE s sessions := running(of_name, shift);
BEGIN
  RETURN CASE WHEN s.id IS NULL THEN ARRAY['none'] ELSE ARRAY['ok'] || accounts(s, s.above) END;
END $$;

-- Replace what was counted for a grant that was given up, in the periods in which it was counted.
CREATE FUNCTION correct(e events, more bigint, at timestamptz) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE s sessions; places bigint[] := coalesce(e.counted_in, ARRAY[e.session, 0]); ids bigint[]; place integer;
BEGIN
  SELECT array_agg(number ORDER BY n) INTO ids FROM unnest(places) WITH ORDINALITY AS each (number, n) WHERE n % 2 = 1;
  PERFORM renew_all(ids, at);
  FOR place IN 1 .. cardinality(ids) LOOP
    UPDATE sessions SET used = used + more - e.tokens WHERE id = ids[place] AND period = places[2 * place];
    UPDATE periods SET used = used + more - e.tokens WHERE session = ids[place] AND period = places[2 * place];
  END LOOP;
  UPDATE sessions SET window_used = greatest(window_used - e.tokens, 0) + more WHERE id = e.session RETURNING * INTO s;
  IF e.turn <> '' THEN UPDATE turns SET used = used + more - e.tokens WHERE session = e.session AND turn = e.turn; END IF;
  RETURN accounts(s, nullif(ids[2:], '{}'));
END $$;

CREATE FUNCTION settle(of_name text, grant_id bigint, in_turn text, more bigint, of_kind text, shift interval)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE s sessions; g grants; e events; numbers text[];
BEGIN
  -- A plain grant needs no lock but that of its own row, which only one settlement gets.
  DELETE FROM grants WHERE id = grant_id AND is_plain RETURNING * INTO g;
  IF NOT FOUND THEN
    SELECT * INTO g FROM grants WHERE id = grant_id;
    IF FOUND THEN
      PERFORM FROM sessions WHERE id = g.root FOR UPDATE;
      DELETE FROM grants WHERE id = grant_id RETURNING * INTO g;
      IF FOUND THEN PERFORM renew_all(g.session || g.above, clock_timestamp() + shift); END IF;
    END IF;
  END IF;
  IF g.id IS NOT NULL THEN
    INSERT INTO events AS old (id, session, kind, tokens, turn) VALUES (grant_id, g.session, of_kind, more, in_turn)
    ON CONFLICT (id) DO NOTHING;
    IF FOUND THEN
      UPDATE sessions SET used = used + more, window_used = window_used + more, reserved = reserved - g.tokens
      WHERE id = g.session RETURNING * INTO s;
      IF g.above IS NOT NULL THEN
        UPDATE sessions SET used = used + more, reserved = reserved - g.tokens, reserved_below = reserved_below - g.tokens
        WHERE id = ANY (g.above);
      END IF;
      IF in_turn <> '' THEN
        INSERT INTO turns AS t (session, turn, used) VALUES (s.id, in_turn, more)
        ON CONFLICT (session, turn) DO UPDATE SET used = t.used + more, reserved = t.reserved - g.tokens;
      END IF;
      IF g.above IS NULL THEN RETURN ARRAY['ok'] || account(s); END IF;
      RETURN ARRAY['ok'] || accounts(s, g.above);
    END IF;
    -- It expired once, and was reserved again under the same id.
    PERFORM hold(g.session, g.above, g.turn, -g.tokens);
  END IF;
  SELECT * INTO e FROM events WHERE id = grant_id;
  IF FOUND AND e.kind <> 'unsettled' THEN RETURN named(of_name, shift); END IF;
  IF FOUND THEN
    PERFORM FROM sessions WHERE id = coalesce(e.counted_in[cardinality(e.counted_in) - 1], e.session) FOR UPDATE;
    DELETE FROM events WHERE id = grant_id AND kind = 'unsettled' RETURNING * INTO e;
    IF NOT FOUND THEN RETURN named(of_name, shift); END IF;
    numbers := correct(e, more, clock_timestamp() + shift);
    INSERT INTO events (id, session, kind, tokens, turn) VALUES (grant_id, e.session, of_kind, more, in_turn);
    RETURN ARRAY['ok'] || numbers;
  END IF;
  s := running(of_name, shift);
  IF s.id IS NULL THEN RETURN ARRAY['none']; END IF;
  -- The same settlement may have come twice at once.
  INSERT INTO events (id, session, kind, tokens, turn) VALUES (grant_id, s.id, of_kind, more, in_turn)
  ON CONFLICT (id) DO NOTHING;
  IF FOUND THEN PERFORM use(s.id, s.above, in_turn, more); END IF;
  RETURN ARRAY['unknown'] || fresh(s.id);
END $$;

CREATE FUNCTION finish(of_session bigint, call_id bigint, how text, shift interval) RETURNS void LANGUAGE sql AS $$
  UPDATE sessions SET ended = clock_timestamp() + shift, ended_by = call_id, ended_how = how WHERE id = of_session;
  DELETE FROM records WHERE session = of_session;
  DELETE FROM shown WHERE session = of_session;
$$;

-- What reading a list has to do first: free what has expired, and begin new periods. Trees in use are skipped: their
-- steps do it themselves.
CREATE FUNCTION tidy(at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE of_root bigint; s sessions;
BEGIN
  FOR of_root IN SELECT DISTINCT root FROM grants WHERE expires <= at LOOP
    PERFORM FROM sessions WHERE id = of_root FOR UPDATE SKIP LOCKED;
    IF FOUND THEN PERFORM free_expired(of_root, at); END IF;
  END LOOP;
  FOR s IN SELECT * FROM sessions WHERE ended IS NULL AND renew IS NOT NULL AND start_of(renew, at) > period_began LOOP
    PERFORM FROM sessions WHERE id = coalesce(s.above[cardinality(s.above)], s.id) FOR UPDATE SKIP LOCKED;
    IF FOUND THEN PERFORM renew_all(ARRAY[s.id], at); END IF;
  END LOOP;
END $$;

-- A list of all that is there, without a session of its own.
CREATE FUNCTION listed(what text, of_name text, at timestamptz) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE answer text[] := ARRAY['ok']; row record;
BEGIN
  PERFORM tidy(at);
  CASE what
  WHEN 'list' THEN
    FOR row IN SELECT s.name, milliseconds(s.created) AS created, account(s) AS numbers
      FROM sessions s WHERE ended IS NULL ORDER BY id
    LOOP answer := answer || ARRAY[row.name, row.created] || row.numbers; END LOOP;
  WHEN 'held' THEN
    FOR row IN SELECT name, tokens, announced, holder, since FROM grants
      JOIN sessions s ON s.id = grants.session WHERE expires > at ORDER BY since, grants.id LIMIT 1000
    LOOP
      answer := answer || ARRAY[row.name, row.tokens::text, row.announced::text, row.holder,
        (round(extract(epoch FROM at - row.since) * 1000))::bigint::text];
    END LOOP;
  WHEN 'history' THEN
    FOR row IN SELECT * FROM (
        SELECT * FROM (
          SELECT name, coalesce(period_began, created) AS began, ended, total, used, coalesce(ended_how, 'ended') AS how
          FROM sessions WHERE ended IS NOT NULL
          UNION ALL SELECT name, began, ended, total, used, 'renewed' FROM periods) AS past
        WHERE of_name = '' OR name = of_name ORDER BY ended DESC, began DESC LIMIT 1000) AS latest
      ORDER BY ended, began
    LOOP
      answer := answer || ARRAY[row.name, milliseconds(row.began), milliseconds(row.ended),
        coalesce(row.total::text, ''), row.used::text, row.how];
    END LOOP;
  END CASE;
  RETURN answer;
END $$;

CREATE FUNCTION start_session(w text[], shift interval) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE s sessions; p sessions; at timestamptz; of_renew text := nullif(w[11], '');
BEGIN
  s := running(w[2], shift);
  IF s.id IS NOT NULL THEN RETURN ARRAY['exists'] || accounts(s, s.above); END IF;
  IF w[10] <> '' THEN
    p := running(w[10], shift);
    IF p.id IS NULL THEN RETURN ARRAY['no_parent']; END IF;
    IF cardinality(p.above) >= 8 THEN RETURN ARRAY['too_deep']; END IF;
  END IF;
  at := clock_timestamp() + shift;
  INSERT INTO sessions (name, created, total, context_window, result_pct, turn_pct, floor_tokens, result_millionths,
    turn_millionths, parent, above, renew, period_began)
  VALUES (w[2], at, nullif(w[3], '')::bigint, nullif(w[4], '')::bigint, nullif(w[5], ''), nullif(w[6], ''),
    nullif(w[7], '')::bigint, nullif(w[8], '')::bigint, nullif(w[9], '')::bigint, nullif(w[10], ''),
    CASE WHEN p.id IS NOT NULL THEN p.id || p.above END, of_renew, CASE WHEN of_renew IS NOT NULL THEN at END)
  ON CONFLICT (name) WHERE ended IS NULL DO NOTHING RETURNING * INTO s;
  IF FOUND THEN RETURN ARRAY['ok'] || accounts(s, s.above); END IF;
  s := running(w[2], shift);
  RETURN ARRAY['exists'] || accounts(s, s.above);
END $$;

CREATE FUNCTION end_session(s sessions, call_id bigint, with_tree boolean, shift interval) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE b sessions; answer text[] := ARRAY['children'];
BEGIN
  FOR b IN SELECT * FROM sessions WHERE ended IS NULL AND above IS NOT NULL AND s.id = ANY (above) ORDER BY id LOOP
    IF with_tree THEN PERFORM finish(b.id, NULL, 'ended', shift); END IF;
    answer := answer || b.name;
  END LOOP;
  IF cardinality(answer) > 1 AND NOT with_tree THEN RETURN answer[:10]; END IF;
  PERFORM finish(s.id, call_id, 'ended', shift);
  RETURN ARRAY['ok'] || accounts(s, s.above);
END $$;

CREATE FUNCTION reset_session(s sessions, call_id bigint, shift interval) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE old bigint := s.id; at timestamptz := clock_timestamp() + shift;
BEGIN
  PERFORM FROM sessions WHERE ended_by = call_id;
  IF FOUND THEN RETURN ARRAY['ok'] || accounts(s, s.above); END IF;
  PERFORM finish(s.id, call_id, 'reset', shift);
  INSERT INTO sessions (name, created, total, context_window, result_pct, turn_pct, floor_tokens, result_millionths,
    turn_millionths, parent, above, renew, period_began)
  VALUES (s.name, at, s.total, s.context_window, s.result_pct, s.turn_pct, s.floor_tokens, s.result_millionths,
    s.turn_millionths, s.parent, s.above, s.renew, CASE WHEN s.renew IS NOT NULL THEN at END) RETURNING * INTO s;
  UPDATE sessions SET above = array_replace(above, old, s.id) WHERE ended IS NULL AND above IS NOT NULL AND old = ANY (above);
  -- What is held stays a matter of the old session, but expires with the tree that there is now.
  UPDATE grants SET root = s.id, is_plain = false WHERE root = old;
  RETURN ARRAY['ok'] || accounts(s, s.above);
END $$;

-- The account of a session without any lock, so that nothing has to be written; null if something is due before.
CREATE FUNCTION read_only(of_name text, at timestamptz) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE s sessions;
BEGIN
  SELECT * INTO s FROM sessions WHERE name = of_name AND ended IS NULL;
  IF NOT FOUND THEN RETURN ARRAY['none']; END IF;
  IF EXISTS (SELECT FROM grants WHERE root = coalesce(s.above[cardinality(s.above)], s.id) AND expires <= at) THEN
    RETURN NULL;
  END IF;
  IF s.renew IS NOT NULL OR s.above IS NOT NULL THEN
    PERFORM FROM sessions WHERE id = ANY (s.id || s.above) AND renew IS NOT NULL AND start_of(renew, at) > period_began;
    IF FOUND THEN RETURN NULL; END IF;
  END IF;
  RETURN ARRAY['ok'] || accounts(s, s.above);
END $$;

-- One step: its name, and its arguments; an empty argument means none.
CREATE FUNCTION step(known integer, w text[]) RETURNS text[] LANGUAGE plpgsql
SECURITY DEFINER SET search_path = @SCHEMA@, pg_temp AS $$
DECLARE s sessions; g grants; number bigint; found_version integer; shift interval; row_id bigint; answer text[];
BEGIN
  SELECT version, clock_offset INTO found_version, shift FROM meta;
  IF found_version > known THEN RETURN ARRAY['newer', found_version::text, known::text]; END IF;
  CASE w[1]
  WHEN 'settle' THEN RETURN settle(w[2], w[3]::bigint, w[4], w[5]::bigint, w[6], shift);
  WHEN 'renew', 'announce' THEN
    UPDATE grants SET expires = clock_timestamp() + shift + lease,
      announced = CASE WHEN w[1] = 'announce' THEN greatest(announced, w[3]::bigint) ELSE announced END
    WHERE id = w[2]::bigint;
    RETURN ARRAY['ok'];
  WHEN 'list', 'held', 'history' THEN RETURN listed(w[1], coalesce(w[2], ''), clock_timestamp() + shift);
  WHEN 'start' THEN RETURN start_session(w, shift);
  WHEN 'read' THEN
    answer := read_only(w[2], clock_timestamp() + shift);
    IF answer IS NOT NULL THEN RETURN answer; END IF;
  WHEN 'end' THEN
    -- The answer to the first attempt may have been lost.
    SELECT * INTO s FROM sessions WHERE ended_by = w[3]::bigint;
    IF FOUND THEN RETURN ARRAY['ok'] || accounts(s, s.above); END IF;
  WHEN 'release' THEN
    SELECT root INTO row_id FROM grants WHERE id = w[3]::bigint;
    IF FOUND THEN
      PERFORM FROM sessions WHERE id = row_id FOR UPDATE;
      SELECT * INTO g FROM grants WHERE id = w[3]::bigint FOR UPDATE;
      IF FOUND THEN PERFORM give_up(g, clock_timestamp() + shift); END IF;
    END IF;
  ELSE NULL;
  END CASE;
  s := running(w[2], shift);
  IF s.id IS NULL THEN RETURN ARRAY['none']; END IF;
  CASE w[1]
  WHEN 'reserve' THEN RETURN reserve(s, w, shift);
  WHEN 'read', 'release' THEN RETURN ARRAY['ok'] || accounts(s, s.above);
  WHEN 'end' THEN RETURN end_session(s, w[3]::bigint, w[4] <> '', shift);
  WHEN 'reset' THEN RETURN reset_session(s, w[3]::bigint, shift);
  WHEN 'record' THEN
    PERFORM FROM events WHERE id = w[3]::bigint;
    IF FOUND THEN RETURN ARRAY['ok'] || accounts(s, s.above); END IF;
    IF w[5] <> '' THEN
      INSERT INTO records VALUES (s.id, w[5]) ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN RETURN ARRAY['before'] || accounts(s, s.above); END IF;
    END IF;
    number := w[4]::bigint;
    INSERT INTO events (id, session, kind, tokens) VALUES (w[3]::bigint, s.id, 'record', number);
    UPDATE sessions SET used = used + number, window_used = greatest(window_used, number) WHERE id = s.id;
    UPDATE sessions SET used = used + number WHERE id = ANY (s.above);
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
