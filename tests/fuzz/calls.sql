-- Makes up the calls of tests/attacks/fuzz: of all that the extension has in the catalog, so nothing has to be added here for a
-- new function. All chance comes from random(): setseed before fuzz.make_calls makes the same calls again.

CREATE FUNCTION fuzz.chance(p float8) RETURNS boolean LANGUAGE sql VOLATILE RETURN random() < p;
CREATE FUNCTION fuzz.one_of(choices text[]) RETURNS text LANGUAGE sql VOLATILE
RETURN choices[1 + floor(random() * cardinality(choices))::int];

-- A text with some of it changed.
CREATE FUNCTION fuzz.forge(original text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    at int;
    forged text := original;
    pieces CONSTANT text[] := ARRAY['{', '}', '[', ')', ':', ',', '/', 'x', '-', '0', '9', '1e999', 'null', '"', '.5', ' ', E'\t', 'é',
        '9223372036854775807', '-9223372036854775808', '18446744073709551615', '1048577', '<=0', '[]', '{}', 'NaN'];
BEGIN
    FOR i IN 0..floor(random() * 3)::int LOOP
        at := floor(random() * (length(forged) + 1))::int;
        forged := CASE floor(random() * 4)::int
            WHEN 0 THEN left(forged, at) || fuzz.one_of(pieces) || substr(forged, at + 1)
            WHEN 1 THEN left(forged, at) || fuzz.one_of(pieces) || substr(forged, at + 2)
            WHEN 2 THEN left(forged, at) || substr(forged, at + 1 + floor(random() * 6)::int)
            ELSE left(forged, at) || substr(forged, floor(random() * (length(forged) + 1))::int) END;
    END LOOP;
    RETURN forged;
END $$;

-- The same of bytes.
CREATE FUNCTION fuzz.forge(original bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    at int;
    forged bytea := original;
BEGIN
    FOR i IN 0..floor(random() * 3)::int LOOP
        at := floor(random() * (length(forged) + 1))::int;
        forged := CASE floor(random() * 4)::int
            WHEN 0 THEN substr(forged, 1, at) || set_byte('\x00', 0, floor(random() * 256)::int) || substr(forged, at + 1)
            WHEN 1 THEN substr(forged, 1, at) || decode(fuzz.one_of('{00,01,7f,80,ff,ffffffffffffffffff01,ffffffff0f}'), 'hex') || substr(forged, at + 2)
            WHEN 2 THEN substr(forged, 1, at) || substr(forged, at + 1 + floor(random() * 4)::int)
            ELSE substr(forged, 1, at) END;
    END LOOP;
    RETURN forged;
END $$;

-- What can be called, from the catalog: without what only the server can call, which takes or gives something internal.
CREATE TABLE fuzz.callable AS
WITH member AS (
    SELECT e.classid, e.objid FROM pg_depend AS e JOIN pg_extension AS x ON e.refclassid = 'pg_extension'::regclass AND e.refobjid = x.oid
     WHERE x.extname = 'pg_dp' AND e.deptype = 'e'
)
SELECT row_number() OVER (ORDER BY kind, name COLLATE "C", types::text COLLATE "C") AS n, c.*
  FROM (
    SELECT CASE p.prokind WHEN 'f' THEN 'function' WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' END AS kind, p.oid::regproc::text AS name,
           string_to_array(nullif(oidvectortypes(p.proargtypes), ''), ', ') AS types,
           p.proargnames[:p.pronargs] AS names, p.pronargdefaults::int AS defaults
      FROM member AS m JOIN pg_proc AS p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
     WHERE p.prorettype <> 'trigger'::regtype AND p.prorettype <> 'internal'::regtype AND NOT 'internal'::regtype = ANY (p.proargtypes)
    UNION ALL
    SELECT 'cast', format_type(c.casttarget, NULL), ARRAY[format_type(c.castsource, NULL)], NULL, 0
      FROM member AS m JOIN pg_cast AS c ON m.classid = 'pg_cast'::regclass AND c.oid = m.objid
    UNION ALL
    SELECT 'operator', format('OPERATOR(%s.%s)', o.oprnamespace::regnamespace, o.oprname),
           ARRAY[format_type(o.oprleft, NULL), format_type(o.oprright, NULL)], NULL, 0
      FROM member AS m JOIN pg_operator AS o ON m.classid = 'pg_operator'::regclass AND o.oid = m.objid
    UNION ALL
    SELECT 'view', c.oid::regclass::text, '{}', NULL, 0
      FROM member AS m JOIN pg_class AS c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid AND c.relkind = 'v'
    UNION ALL -- read as text; fuzz.forge_bytes reads bytes
    SELECT 'type', format_type(t.oid, NULL), ARRAY[format_type(t.oid, NULL)], NULL, 0
      FROM member AS m JOIN pg_type AS t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid AND t.typtype = 'b' AND t.typelem = 0
  ) AS c;

-- Of each argument what may be meant, and what cannot be.
CREATE TABLE fuzz.argument AS
SELECT c.n AS callable, a.n, a.type, c.names[a.n] AS name,
       (SELECT array_agg(coalesce(v, 'NULL')) FROM unnest(coalesce((
            SELECT g.values FROM fuzz.good AS g
             WHERE g.type = a.type AND format('%s(%s)', regexp_replace(c.name, '^.*\.', ''), array_to_string(c.types, ', ')) ~ g.functions AND coalesce(c.names[a.n], '') ~ g.arguments
             ORDER BY g.arguments = '', length(g.functions) DESC LIMIT 1), '{NULL}')) AS v) AS good,
       coalesce((SELECT array_agg(coalesce(v, 'NULL')) FROM fuzz.hostile AS h, unnest(h.values) AS v WHERE h.type = a.type), '{NULL}') AS hostile
  FROM fuzz.callable AS c CROSS JOIN LATERAL unnest(c.types) WITH ORDINALITY AS a (type, n);

-- Values of the extension's own types as they are written, to be forged.
CREATE TABLE fuzz.written (type text, value text, bytes bytea);
DO $$
DECLARE
    a record;
BEGIN
    FOR a IN SELECT DISTINCT type, replace(v, '#', i::text) AS value FROM fuzz.good, unnest(values) AS v, generate_series(0, 11) AS i
              WHERE type IN (SELECT name FROM fuzz.callable WHERE kind = 'type') ORDER BY 1, 2 LOOP
        EXECUTE format('INSERT INTO fuzz.written SELECT %L, v::text, %I(v) FROM (SELECT (%s)::%I) AS v (v)', a.type, a.type || '_send', a.value, a.type);
    END LOOP;
END $$;

-- What a call is given for an argument, as SQL.
CREATE FUNCTION fuzz.given(a fuzz.argument, hostility float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    value text;
BEGIN
    IF NOT fuzz.chance(hostility) THEN
        value := fuzz.one_of(a.good);
    ELSIF fuzz.chance(0.15) THEN
        value := 'NULL';
    ELSIF fuzz.chance(0.1) THEN -- what another argument is given, of another type perhaps
        SELECT fuzz.one_of(o.good) INTO value FROM fuzz.argument AS o
         WHERE callable = (SELECT 1 + floor(random() * count(*))::int FROM fuzz.callable) ORDER BY o.n LIMIT 1;
        IF fuzz.chance(0.5) THEN
            RETURN '(' || replace(coalesce(value, 'NULL'), '#', '1') || ')';
        END IF;
    ELSIF fuzz.chance(0.7) THEN
        SELECT quote_literal(fuzz.forge(w.value)) INTO value FROM fuzz.written AS w WHERE w.type = a.type
        OFFSET floor(random() * (SELECT count(*) FROM fuzz.written AS w WHERE w.type = a.type)) LIMIT 1;
    END IF;
    value := replace(coalesce(value, fuzz.one_of(a.hostile)), '#', floor(random() * 10)::text);
    RETURN CASE WHEN a.type ~ '^(any|"any)' THEN value ELSE format('(%s)::%s', value, a.type) END;
END $$;

-- A call of one of them.
CREATE FUNCTION fuzz.made_call(c fuzz.callable) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    arguments CONSTANT fuzz.argument[] := ARRAY(SELECT b FROM fuzz.argument AS b WHERE b.callable = c.n ORDER BY b.n);
    hostility CONSTANT float8 := (ARRAY[0, 0, 0, 0, 0.3, 0.3, 1])[1 + floor(random() * 7)::int];
    -- in many calls one argument is out of the way, among good ones
    odd CONSTANT int := CASE WHEN fuzz.chance(0.4) THEN 1 + floor(random() * cardinality(arguments))::int END;
    required CONSTANT int := cardinality(arguments) - c.defaults;
    given text[] := '{}';
    row text[];
    rows text[] := '{}';
    a fuzz.argument;
BEGIN
    IF c.kind = 'aggregate' THEN
        FOR i IN 0..floor(random() * 4)::int LOOP
            row := '{}';
            FOREACH a IN ARRAY arguments LOOP
                row := row || fuzz.given(a, CASE WHEN a.n = odd THEN 1 ELSE hostility END);
            END LOOP;
            rows := rows || format('SELECT %s', array_to_string(row, ', '));
        END LOOP;
        RETURN format('SELECT left(a::text, 200) FROM (SELECT %s(%s) %s FROM (%s %s) AS v (%s)) AS a', c.name,
                      (SELECT string_agg('v' || i, ', ') FROM generate_series(1, cardinality(arguments)) AS i),
                      CASE WHEN fuzz.chance(0.2) THEN 'OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)' END,
                      array_to_string(rows, ' UNION ALL '), CASE WHEN fuzz.chance(0.05) THEN 'LIMIT 0' END,
                      (SELECT string_agg('v' || i, ', ') FROM generate_series(1, cardinality(arguments)) AS i));
    END IF;

    FOREACH a IN ARRAY arguments LOOP
        CONTINUE WHEN a.n > required AND a.n IS DISTINCT FROM odd AND a.name <> 'epsilon_budget' AND fuzz.chance(0.75);
        given := given || concat(CASE WHEN a.n > required THEN format('%I => ', a.name) END,
                                 fuzz.given(a, CASE WHEN a.n = odd THEN 1 ELSE hostility END));
    END LOOP;
    RETURN CASE c.kind
        WHEN 'procedure' THEN format('CALL %s(%s)', c.name, array_to_string(given, ', '))
        WHEN 'cast' THEN format('SELECT left((%s)::%s::text, 200)', given[1], c.name)
        WHEN 'operator' THEN format('SELECT left((%s %s %s)::text, 200)', given[1], c.name, given[2])
        WHEN 'view' THEN format('SELECT left(v::text, 200) FROM %s AS v LIMIT 5 OFFSET %s', c.name, floor(random() * 20))
        WHEN 'type' THEN format('SELECT left((%s)::text, 200)', fuzz.given(arguments[1], 1))
        ELSE format('SELECT left(f::text, 200) FROM %s(%s) AS f LIMIT 5', c.name, array_to_string(given, ', ')) END;
END $$;

-- All calls: who makes them, what comes before and after, and how often one may be charged.
CREATE TABLE fuzz.call (n bigint PRIMARY KEY, role text, callable bigint, before text, call text, after text, charges int);
CREATE FUNCTION fuzz.make_calls(calls int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    c fuzz.callable;
    -- what releases comes more often
    drawn CONSTANT fuzz.callable[] := ARRAY(
        SELECT a FROM fuzz.callable AS a
         CROSS JOIN generate_series(1, CASE WHEN a.kind = 'view' THEN 1 WHEN a.name ~ '(release|sums|histogram|tick|publish)$|stream_create' THEN 12 ELSE 3 END)
         ORDER BY a.n);
    call text;
    setting float8;
    is_query boolean;
BEGIN
    FOR n IN 1..calls LOOP
        c := drawn[1 + floor(random() * cardinality(drawn))::int];
        call := fuzz.made_call(c);
        is_query := c.kind <> 'procedure';
        setting := random();
        INSERT INTO fuzz.call
        SELECT n, 'dp_test_' || (ARRAY['owner', 'analyst', 'stranger', 'owner', 'analyst', 'owner', 'analyst'])[1 + n % 7], c.n, s.before, s.call, s.after,
               -- these release several
               CASE WHEN c.name ~ 'publish|charge_quoted' THEN 9 ELSE coalesce(s.charges, 1) END
          FROM (VALUES
            (setting < 0.06, 'BEGIN;', call, 'ROLLBACK;', NULL),
            (setting < 0.11, format('BEGIN %s;', fuzz.one_of('{ISOLATION LEVEL REPEATABLE READ,ISOLATION LEVEL SERIALIZABLE,READ ONLY}')), call, 'ROLLBACK;', NULL),
            (setting < 0.18, format('SET statement_timeout = %s;', 1 + floor(random() * 30)), call, 'RESET statement_timeout;', NULL),
            (setting < 0.21, 'SELECT fuzz.force_parallel(''on'');', call, 'SELECT fuzz.force_parallel(''off'');', NULL),
            (setting < 0.24 AND is_query, 'BEGIN; DECLARE c CURSOR FOR ' || call || ';', 'FETCH 1 FROM c', 'ROLLBACK;', NULL),
            (setting < 0.26 AND is_query, '', 'EXPLAIN (ANALYZE, VERBOSE, SETTINGS) ' || call, '', NULL),
            (setting < 0.29 AND is_query, format('PREPARE p AS %s; EXECUTE p;', call), 'EXECUTE p', 'DEALLOCATE ALL;', 2),
            (setting < 0.33 AND is_query, '', format('DO $fuzz$ BEGIN PERFORM * FROM (%s) AS q; EXCEPTION WHEN OTHERS THEN RAISE NOTICE ''%%: %%'', SQLSTATE, SQLERRM; END $fuzz$', call), '', NULL),
            (true, '', call, '', NULL)) AS s (condition, before, call, after, charges)
         WHERE s.condition LIMIT 1;
    END LOOP;
END $$;

-- In worker processes, what may run there.
CREATE FUNCTION fuzz.force_parallel(state text) RETURNS SETOF text LANGUAGE sql
RETURN (SELECT set_config(name, state, false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query'));

-- How each ended, and what its role was charged meanwhile.
CREATE TABLE fuzz.outcome (n bigint, code text, message text, charges bigint);
CREATE TABLE fuzz.last_seen (role text PRIMARY KEY, charge bigint);
INSERT INTO fuzz.last_seen SELECT 'dp_test_' || r, (SELECT max(id) FROM dp.charge) FROM unnest('{owner,analyst,stranger}'::text[]) AS r;
CREATE FUNCTION fuzz.note(n bigint, code text, message text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- of a call that was cancelled a worker may still charge
    workers CONSTANT int[] := ARRAY(SELECT pid FROM pg_stat_activity WHERE code IN ('57014', '58030') AND backend_type LIKE 'pg\_dp %');
BEGIN
    WHILE EXISTS (SELECT FROM pg_stat_activity WHERE pid = ANY (workers)) LOOP
        PERFORM pg_sleep(0.002), pg_stat_clear_snapshot();
    END LOOP;
    INSERT INTO fuzz.outcome
    SELECT n, code, CASE WHEN code <> '00000' THEN message END, count(*)
      FROM dp.charge WHERE charged_by = session_user AND id > (SELECT charge FROM fuzz.last_seen WHERE role = session_user);
    UPDATE fuzz.last_seen SET charge = (SELECT coalesce(max(id), 0) FROM dp.charge) WHERE role = session_user;
END $$;

-- What psql is to do, as a role: each call in lines of its own, with its number before. Only the call has little time: the note
-- waits for workers, which a busy machine lets be slow.
CREATE VIEW fuzz.script AS
SELECT n, role, format(E'\\echo call %s\nRESET statement_timeout;\n%s\n%s;\n\\set code :SQLSTATE\n%s\n'
                       'SET statement_timeout = 0;\nSELECT fuzz.note(%1$s, :''code'', :''LAST_ERROR_MESSAGE'');',
                       n, before, call, after) AS lines
  FROM fuzz.call;

-- What must not be: an internal error; more charges than releases; a charge where an error says that there was none. (Of what is
-- called twice the first may be charged, and what is published is charged before it is made.) What a call
-- that was cancelled is charged for may count with a later one: its worker had not begun.
CREATE VIEW fuzz.wrong AS
SELECT n, what, code, message, charges, before, call
  FROM (SELECT o.n, o.code, o.message, o.charges, c.before, c.call, c.charges AS allowed,
               coalesce(bool_or(o.code IN ('57014', '58030')) OVER (PARTITION BY c.role ORDER BY o.n ROWS BETWEEN 50 PRECEDING AND 1 PRECEDING), false) AS follows_cancelled
          FROM fuzz.outcome AS o JOIN fuzz.call AS c USING (n)) AS o
 CROSS JOIN LATERAL (VALUES
    ('internal error', o.code LIKE 'XX%'),
    ('charged too often', o.charges > o.allowed AND NOT follows_cancelled),
    ('charged what it refused', o.charges >= o.allowed AND o.code NOT IN ('00000', '57014', '58030', '54000')
                                AND o.message IS DISTINCT FROM 'the release failed after it was charged' AND NOT follows_cancelled)) AS w (what, is_so)
 WHERE w.is_so;
