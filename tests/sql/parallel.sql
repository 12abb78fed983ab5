-- Rows that are groups are counted by parallel workers, in an aggregate that the planner divides. The noise of epsilon
-- = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE place (state text, county smallint, code char(4), amount numeric, label text, day date, flag boolean, size bigint);
ALTER TABLE place ALTER label SET STORAGE EXTERNAL;
INSERT INTO place
SELECT CASE WHEN s = 64 THEN NULL ELSE 'state ' || i % 7 END, CASE WHEN s = 81 THEN NULL ELSE i % 11 END, chr(65 + i % 3),
       ('{1.0,1.00,NaN,-2}'::numeric[])[i % 4 + 1], CASE WHEN i % 400 = 0 THEN repeat('far ', 1000) || i % 3 ELSE 'near' END,
       date '2000-01-01' + i % 5, i % 2 = 0,
       CASE s WHEN 16 THEN -16 WHEN 25 THEN NULL WHEN 36 THEN 9223372036854775807 WHEN 49 THEN 5000000049 ELSE s END
  FROM (SELECT i, ((i::bigint * 7919 % 31) ^ 2)::bigint AS s FROM generate_series(1, 400000) AS i) AS rows;
VACUUM ANALYZE place;
SELECT pg_relation_size(reltoastrelid) > 1000000 AS out_of_line FROM pg_class WHERE relname = 'place';

CREATE TABLE hierarchy AS
SELECT * FROM unnest('{"","state","county","state,county","county,state","code,amount","label","flag,day,label","day,state,code,amount"}'::text[]) AS columns;
SELECT count(*) FROM (SELECT dp_create_dataset('place ' || columns, 'place', '{}', string_to_array(columns, ','), size_column => 'size',
                                               epsilon_budget => 1e9) FROM hierarchy) AS d;
-- in how many rows a release differs from plain SQL, and how many it has
CREATE FUNCTION differences(hierarchy text, OUT differences bigint, OUT rows bigint) LANGUAGE plpgsql AS $$
DECLARE
    columns text[] := string_to_array(hierarchy, ',');
    labels text := coalesce((SELECT string_agg(format('concat(%I)', c), ', ') FROM unnest(columns) AS c), '');
    present text := coalesce((SELECT string_agg(format('%I IS NOT NULL', c), ' AND ') FROM unnest(columns) AS c), 'true');
BEGIN
    EXECUTE format('
        WITH released AS (SELECT path, size, groups FROM dp_hierarchy_release(%L, 1e6, max_size => 500) WHERE level = cardinality(%L::text[])),
        exact AS (SELECT ARRAY[%s]::text[], least(greatest(coalesce(size, 0), 0), 500) AS size, count(*) AS groups
                    FROM place WHERE %s GROUP BY 1, 2)
        SELECT count(*), (SELECT count(*) FROM released)
          FROM ((TABLE released EXCEPT TABLE exact) UNION ALL (TABLE exact EXCEPT TABLE released)) AS d',
        'place ' || hierarchy, columns, labels, present) INTO differences, rows;
END $$;

-- what a release asks for, and that workers do it
EXPLAIN (COSTS OFF) SELECT dp.leaf_histograms(500, state, county, size) FROM place;
CREATE FUNCTION launched(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF) ' || query LOOP
        IF line LIKE '%Workers Launched%' THEN RETURN NEXT trim(line); END IF;
    END LOOP;
END $$;
SELECT * FROM launched('SELECT dp.leaf_histograms(500, state, county, size) FROM place');
SELECT * FROM launched('SELECT dp.leaf_histograms(500, size) FROM place');
SELECT columns, d.* FROM hierarchy, differences(columns) AS d;
-- all processes print regions alike, whatever the session's settings
SET DateStyle = 'German';
SELECT DISTINCT path FROM dp_hierarchy_release('place day,state,code,amount', 1e6) WHERE level = 1 ORDER BY 1;
SET DateStyle = 'ISO';

-- by the leader alone, by one worker, by workers alone
SET max_parallel_workers = 0;
SELECT d.* FROM differences('state,county') AS d;
RESET max_parallel_workers;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT dp.leaf_histograms(500, state, county, size) FROM place;
SELECT d.* FROM differences('state,county') AS d;
SELECT count(*) AS set FROM (SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')) AS s;
SELECT d.* FROM differences('state,county') AS d;
SELECT count(*) AS reset FROM (SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')) AS s;
RESET max_parallel_workers_per_gather;
SET parallel_leader_participation = off;
SELECT d.* FROM differences('state,county') AS d;
RESET parallel_leader_participation;

-- in subtransactions, at every isolation level; workers see what the transaction has done
DO $$
BEGIN
    INSERT INTO place SELECT 'new', 1, 'new', 1, 'new', '2001-01-01', true, i % 3 FROM generate_series(1, 100) AS i;
    UPDATE place SET county = 1 + county WHERE state = 'new';
    BEGIN
        UPDATE place SET county = 2 + county WHERE state = 'new';
        RAISE WARNING 'in a subtransaction: %', differences('state,county');
        RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
        RAISE WARNING 'after it: %', differences('state,county');
    END;
    DELETE FROM place WHERE state = 'new';
END $$;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT d.* FROM differences('state,county') AS d;
SAVEPOINT s;
SELECT d.* FROM differences('county,state') AS d;
ROLLBACK TO s;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE release CURSOR FOR SELECT * FROM dp_hierarchy_release('place ', 1e6, max_size => 5);
FETCH 1 FROM release;
FETCH ALL FROM release;
COMMIT;
-- partitions are counted together, however many
CREATE TABLE parts (LIKE place) PARTITION BY HASH (day, code);
DO $$ BEGIN FOR i IN 0..7 LOOP EXECUTE format('CREATE TABLE part_%s PARTITION OF parts FOR VALUES WITH (MODULUS 8, REMAINDER %1$s)', i); END LOOP; END $$;
INSERT INTO parts TABLE place;
ANALYZE parts;
SELECT dp_create_dataset('parts', 'parts', '{}', '{state,county}', size_column => 'size', epsilon_budget => 1e9);
SET enable_partitionwise_aggregate = on;
SELECT count(*) FROM (
    (SELECT * FROM dp_hierarchy_release('parts', 1e6) EXCEPT SELECT * FROM dp_hierarchy_release('place state,county', 1e6)) UNION ALL
    (SELECT * FROM dp_hierarchy_release('place state,county', 1e6) EXCEPT SELECT * FROM dp_hierarchy_release('parts', 1e6))) AS differences;
RESET enable_partitionwise_aggregate;

-- without rows
CREATE TABLE nothing (state text, size int);
SELECT dp_create_dataset('nothing', 'nothing', '{}', '{state}', size_column => 'size', epsilon_budget => 1e9),
       dp_create_dataset('nothing of the nation', 'nothing', '{}', '{}', size_column => 'size', epsilon_budget => 1e9);
SELECT dp.leaf_histograms(10, state, size) FROM nothing;
SELECT * FROM dp_hierarchy_release('nothing', 1);
SELECT * FROM dp_hierarchy_release('nothing of the nation', 1);
INSERT INTO nothing VALUES (NULL, 1);
SELECT * FROM dp_hierarchy_release('nothing', 1);
SELECT * FROM histograms($$dp_hierarchy_release('nothing of the nation', 1e6)$$);


-- the aggregate is a part of releases, and harmless by itself
SELECT e.* FROM unnest(ARRAY['dp.leaf_histograms(-1, size)', 'dp.leaf_histograms(NULL, size)', 'dp.leaf_histograms(size)', 'dp.leaf_histograms(1, ''x'', size)',
    'dp.leaf_histograms(1, size) OVER ()']) AS call, error_of(format('SELECT %s FROM (VALUES (1)) AS v (size)', call)) AS e;
-- earlier minor releases of PostgreSQL find the function, and refuse the argument
SELECT call, e.code IN ('42883', '0A000') AS refused
  FROM unnest('{"leaf_histograms_add(NULL, 1, 1)","leaf_histograms_merge(NULL, NULL)",leaf_histograms_write(NULL),"leaf_histograms_read(''\\x00'', NULL)"}'::text[]) AS call,
       error_of('SELECT dp.' || call) AS e;
SELECT dp.leaf_histograms(3, state, size) FROM (VALUES ('a', 1), ('a', 5), ('a', NULL), (NULL, 1)) AS v (state, size);
SELECT dp.leaf_histograms(3, VARIADIC ARRAY[1, 2]), dp.leaf_histograms(3, 1.5), dp.leaf_histograms(3, NULL::record), dp.leaf_histograms(3, NULL::text);
SELECT count(*), min(length(h)), max(length(h)) FROM (SELECT dp.leaf_histograms(3, i) AS h FROM generate_series(1, 4) AS i GROUP BY i) AS g;
SELECT e.* FROM generate_series(1, 3), error_of('SELECT dp.leaf_histograms(3, i) FROM generate_series(1, 5) AS i GROUP BY i') AS e;
SELECT d.* FROM differences('state') AS d;
SELECT whole FROM dp_verify_ledger();

-- whoever owns the rows has to be able to call it, or nothing is charged
CREATE ROLE dp_test_counter;
CREATE TABLE counted AS SELECT 1 AS size FROM generate_series(1, 5);
ALTER TABLE counted OWNER TO dp_test_counter;
SELECT dp_create_dataset('counted', 'counted', '{}', '{}', size_column => 'size', epsilon_budget => 1);
REVOKE USAGE ON SCHEMA dp FROM PUBLIC;
SELECT e.* FROM error_of($$SELECT dp_hierarchy_release('counted', 1)$$) AS e;
GRANT USAGE ON SCHEMA dp TO PUBLIC;
SELECT epsilon_spent FROM dp_budget('counted');
SELECT level, sum(groups) FROM dp_hierarchy_release('counted', 1) GROUP BY level;
DROP TABLE counted;
DROP ROLE dp_test_counter;
