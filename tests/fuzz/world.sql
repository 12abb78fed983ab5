-- What tests/attacks/fuzz asks about: private tables of every kind that a dataset may have, with values among them that no
-- message may ever hold, and an owner, an analyst with grants, and a stranger without any. All three may log in.
CREATE ROLE dp_test_owner LOGIN;
CREATE ROLE dp_test_analyst LOGIN;
CREATE ROLE dp_test_stranger LOGIN;
CREATE SCHEMA fuzz;
CREATE SCHEMA private AUTHORIZATION dp_test_owner;
CREATE SCHEMA public_tables AUTHORIZATION dp_test_owner;
GRANT USAGE ON SCHEMA fuzz, public_tables TO PUBLIC;

-- What is planted, as every form that is looked for in what is told.
CREATE TABLE fuzz.planted (kind text PRIMARY KEY, value text, sought text);
INSERT INTO fuzz.planted VALUES
    ('name', 'kestrel of the north', 'kestrel'), ('born', '1907-03-05', '1907-03-05'), ('income', '314159265358979323.75', '31415926535897'),
    ('age', '770013579246801357', '770013579246801357'), ('household', '660024680135792468', '660024680135792468');
CREATE FUNCTION fuzz.plant(kind text) RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
RETURN (SELECT value FROM fuzz.planted AS p WHERE p.kind = plant.kind);

SET ROLE dp_test_owner;
CREATE TABLE public_tables.household (household bigint PRIMARY KEY, state text NOT NULL, county text NOT NULL);
INSERT INTO public_tables.household SELECT i, 'state ' || i % 2, 'county ' || i % 6 FROM generate_series(1, 60) AS i;
CREATE TABLE private.person (household bigint, name text, born date, at timestamptz, seen timestamp, age bigint, income numeric);
-- Rows as the owner adds them all the time: one in ten has what is planted, some have NULLs.
CREATE FUNCTION private.persons(rows int) RETURNS SETOF private.person LANGUAGE sql
BEGIN ATOMIC
    SELECT CASE WHEN i % 10 = 0 THEN fuzz.plant('household')::bigint WHEN i % 31 > 0 THEN 1 + i * 7 % 60 END,
           CASE WHEN i % 10 = 1 THEN fuzz.plant('name') ELSE 'person ' || i % 40 END,
           CASE WHEN i % 10 = 2 THEN fuzz.plant('born')::date ELSE date '2000-01-01' + i END,
           timestamptz '2020-01-01' + i * interval '7 h', timestamp '2020-01-01' + i * interval '7 h',
           CASE WHEN i % 10 = 3 THEN fuzz.plant('age')::bigint ELSE i % 90 END,
           CASE WHEN i % 10 = 4 THEN fuzz.plant('income')::numeric WHEN i % 10 = 5 THEN 'NaN' ELSE i % 1000 / 8.0 END
      FROM generate_series(1, rows) AS i;
END;
INSERT INTO private.person SELECT * FROM private.persons(300);
CREATE TABLE private.weight AS
SELECT 'state ' || i % 3 AS state, CASE WHEN i = 7 THEN fuzz.plant('age')::bigint ELSE i % 9 END AS size FROM generate_series(1, 50) AS i;
CREATE TABLE private.histogram AS
SELECT 'state ' || i % 3 AS state, format('{1:%s, %s:1}', i, fuzz.plant('age'))::coco AS h FROM generate_series(1, 9) AS i;
CREATE TABLE private.binned AS
SELECT i::bigint AS household, (SELECT bins_agg(j % 20, 0, 20) FROM generate_series(1, 30) AS j) AS b FROM generate_series(1, 9) AS i;
CREATE VIEW private.grown AS SELECT * FROM private.person WHERE age > 17;
CREATE TABLE private.leaves (state text, county text, h coco);
-- anyone's noisy numbers
CREATE TABLE public_tables.noisy (path text[], size bigint, groups numeric);
INSERT INTO public_tables.noisy VALUES ('{}', 1, 6.2), ('{}', 2, 3.4), ('{GA}', 1, 3.0), ('{GA}', 2, 2.8), ('{NY}', 1, 5.5), ('{NY}', 2, -1.7);
CREATE TABLE public_tables.odd (path text[], size bigint, groups numeric);
INSERT INTO public_tables.odd VALUES ('{}', -1, 'NaN'), (NULL, 9223372036854775807, 1e131071), ('{a,b}', 1, -1e300), ('{{x},{y}}', 2, 1);
CREATE TABLE public_tables.total (path text[], groups bigint, entities bigint);
INSERT INTO public_tables.total VALUES ('{}', 12, NULL), ('{GA}', 6, NULL), ('{NY}', 6, NULL);
GRANT SELECT ON ALL TABLES IN SCHEMA public_tables TO PUBLIC;

-- Declares what is not there, grants what is not granted, confirms what was changed: somebody may have dropped or revoked it.
CREATE FUNCTION private.declare_all() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    d record;
BEGIN
    FOR d IN SELECT * FROM (VALUES
        ('census', $c$'private.person', '{household}', '{state,county}', 'public_tables.household', epsilon_budget => 1e5, delta_budget => 0.01, period_column => 'at'$c$),
        ('small', $c$'private.person', '{household}', '{state,county}', 'public_tables.household', epsilon_budget => 3$c$),
        ('units', $c$'private.person', '{household}', '{state}', 'public_tables.household', epsilon_budget => 1e5, delta_budget => 0.01, privacy_unit => 'name', max_rows_per_unit => 3$c$),
        ('weights', $c$'private.weight', '{}', '{state}', size_column => 'size', epsilon_budget => 1e5$c$),
        ('histograms', $c$'private.histogram', '{}', '{state}', size_column => 'h', epsilon_budget => 1e5$c$),
        ('binned', $c$'private.binned', '{household}', '{state}', 'public_tables.household', size_column => 'b', epsilon_budget => 1e5, delta_budget => 0.01$c$),
        ('hidden', $c$'private.weight', '{}', '{state}', size_column => 'size', epsilon_budget => 1e5, delta_budget => 0.01, groups_private => true, regions => 'public_tables.household', other => 'other'$c$),
        ('counted', $c$'private.grown', '{household}', '{state,county}', 'public_tables.household', epsilon_budget => 1e5, leaves => 'private.leaves'$c$)) AS d (name, declared)
    LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM dp.datasets AS s WHERE s.name = d.name) THEN
                EXECUTE format('SELECT dp_create_dataset(%L, %s)', d.name, d.declared);
            ELSE
                PERFORM dp_confirm_dataset(d.name);
            END IF;
            IF d.name <> 'counted' THEN
                PERFORM dp_set_smallest_charge(d.name, 0.001);
                PERFORM dp_grant(d.name, 'dp_test_analyst', CASE d.name WHEN 'small' THEN 1 WHEN 'census' THEN 1000 END, require_name => d.name IN ('small', 'units'));
            END IF;
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING 'dataset %: % %', d.name, SQLSTATE, SQLERRM;
        END;
    END LOOP;
END $$;
SELECT private.declare_all();
CALL dp_count_leaves('counted');
\o /dev/null
SELECT dp_hierarchy_release('census', 1, name => 'r0');
SELECT dp_hierarchy_release('weights', 1, name => 'r0', keep_measurements => true);
SELECT dp_range_sums('census', 'age', '{"[0,18)","[18,65)"}', 1, name => 'sums');
SELECT dp_region_range_sums('census', 'age', '{"[0,18)"}', 1, name => 'region sums');
SELECT dp_rectangle_sums('census', 'age', 'household', '{"[0,18)"}', '{"[0,9)"}', 1, name => 'rectangles');
SELECT dp_region_range_release('binned', 'b', '[0,20)', 1, name => 'bins');
SELECT dp_stream_create('census', 's0', 'born', date '2000-01-01', '1 day', 100, 1);
SELECT dp_stream_tick('census', 's0');
\o
RESET ROLE;

-- Released values of each method, which calls hand over; of each role's own making, as they may be published.
CREATE TABLE fuzz.released_ranges AS
SELECT row_number() OVER () AS n, dp_range_release('[-3,17){0:3, 5:90}'::bins, 1, CASE WHEN method ~ '^(gaussian|cascade|prefix|optimal|minimax)' THEN 1e-9 ELSE 0 END, method) AS value
  FROM unnest('{flat,tree:3,tree_consistent:2,quad,wavelet,gaussian,cascade,prefix,optimal,minimax:prefix,aware,structure_first}'::text[]) AS method;
CREATE TABLE fuzz.released_grids AS
SELECT row_number() OVER () AS n, dp_grid_release('[0,5)x[-2,4){1/1:7}'::grid, 1, CASE method WHEN 'optimal' THEN 1e-9 ELSE 0 END, method) AS value
  FROM unnest('{auto,flat,optimal}'::text[]) AS method;
GRANT SELECT ON fuzz.released_ranges, fuzz.released_grids TO PUBLIC;

-- What else happens meanwhile: rows come and go, columns and tables change, datasets are dropped and declared again.
SET ROLE dp_test_owner;
CREATE FUNCTION private.change() RETURNS void LANGUAGE plpgsql SET lock_timeout = '1s' AS $$
BEGIN
    CASE floor(random() * 16)::int
        WHEN 0, 1, 2, 3, 4 THEN INSERT INTO private.person SELECT * FROM private.persons(1 + floor(random() * 60)::int);
        WHEN 5, 6 THEN UPDATE private.person SET age = age + 1, household = 61 - household WHERE household < random() * 60;
        WHEN 7 THEN DELETE FROM private.person WHERE random() < 0.3;
        WHEN 8 THEN TRUNCATE private.person; INSERT INTO private.person SELECT * FROM private.persons(300);
        WHEN 9 THEN ALTER TABLE private.person ADD extra text DEFAULT fuzz.plant('name');
        WHEN 10 THEN ALTER TABLE private.person DROP IF EXISTS extra;
        WHEN 11 THEN ALTER TABLE private.person RENAME age TO years; ALTER TABLE private.person ADD age bigint;
        WHEN 12 THEN ALTER TABLE private.person DROP age; ALTER TABLE private.person RENAME years TO age;
        WHEN 13 THEN UPDATE private.weight SET size = size + 1; UPDATE private.binned SET b = b;
        WHEN 14 THEN PERFORM dp_drop_dataset(name) FROM dp.datasets WHERE random() < 0.1;
        ELSE NULL;
    END CASE;
    PERFORM private.declare_all();
EXCEPTION WHEN OTHERS THEN
    NULL; -- it met another change, or a call that did the same
END $$;
RESET ROLE;
-- The memory of a session, which a function of the superuser's tells: of PostgreSQL's contexts but for its caches, and of its process.
CREATE FUNCTION fuzz.memory(OUT contexts bigint, OUT process bigint) LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT sum(used_bytes) FILTER (WHERE name !~ 'Cache|cache|^(index info|relation rules|MessageContext|PortalContext|SPI|ExecutorState|ExprContext|printtup|Timezones|Operator lookup)'),
           max(substring(pg_read_file('/proc/self/status') FROM 'RssAnon:\s*(\d+)')::bigint * 1024)
      FROM pg_backend_memory_contexts;
END;
