-- Range sums of every region of a hierarchy. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE county (fips int, state text NOT NULL, county text NOT NULL);
INSERT INTO county VALUES (1, 'A', 'a'), (2, 'A', 'b'), (3, 'B', 'c'), (NULL, 'B', 'empty'), (4, 'C', 'nobody');
CREATE TABLE person (id int, fips int, age int, born date, seen timestamptz, left_at timestamp);
INSERT INTO person
SELECT i, fips, age, date '2026-01-01' - age, timestamptz '2026-01-01 12:00+00' + age * interval '1 hour', timestamp '2026-01-01 12:00' + age * interval '1 hour'
  FROM unnest('{1,1,1,2,2,3,3,3,9,NULL,1}'::int[], '{0,17,40,18,99,5,NULL,70,30,30,-4}'::int[]) WITH ORDINALITY AS p (fips, age, i);
SELECT dp_create_dataset('people', 'person', '{fips}', '{state,county}', 'county', epsilon_budget => 1e9, delta_budget => 1e-6);
SELECT level, path, range, round(sum) AS sum, stddev < 0.01 AS exact
  FROM dp_region_range_sums('people', 'age', '{"[0,18)", "[18,65)", "[0,65)", "[65,)", empty}', 1e6);
-- by every method that adds up, with bounds, with shares
SELECT m.method, count(*), sum(round(r.sum)) AS sum, sum(round(r.sum)) FILTER (WHERE level = 0) AS root
  FROM unnest('{flat,tree_consistent:2,quad,wavelet,gaussian,cascade,prefix,optimal,minimax}'::text[]) AS m (method),
       dp_region_range_sums('people', 'age', '{"[10,20)", "[20,60)", "[60,70)"}', CASE WHEN m.method IN ('gaussian','cascade','prefix','optimal','minimax') THEN 1e7 ELSE 1e6 END,
                            CASE WHEN m.method IN ('gaussian','cascade','prefix','optimal','minimax') THEN 1e-9 ELSE 0 END,
                            bounds => '[10,70)', method => m.method, budget_shares => '{0.2,0.3,0.5}') AS r
 GROUP BY m.method ORDER BY m.method;
-- dates and times
SELECT path, range, round(sum) AS sum FROM dp_region_range_sums('people', 'born', '{"[2025-12-01,2026-01-02)"}'::daterange[], '1 day', 1e6) WHERE level < 2;
SELECT path, round(sum) AS sum FROM dp_region_range_sums('people', 'seen', '{"[2026-01-01 12:00+00,2026-01-02 12:00+00)"}'::tstzrange[], '1 hour', 1e6) WHERE level = 1;
SELECT path, round(sum) AS sum FROM dp_region_range_sums('people', 'left_at', '{"[2026-01-01 12:00,2026-01-02 12:00)"}'::tsrange[], '1 hour', 1e6) WHERE level = 1;
-- what is released adds up, whatever the noise
SELECT count(*) FROM dp_region_range_sums('people', 'age', '{"[0,10)","[10,30)","[0,30)"}', 0.1, name => 'adds up');
SELECT bool_and(abs(up.sum - down.sum) < 1e-6) AS regions_add_up, count(*)
  FROM dp.region_range_rows AS up
  JOIN LATERAL (SELECT sum(d.sum) FROM dp.region_range_rows AS d
                 WHERE (d.dataset, d.release, d.lower_bound, d.upper_bound) = (up.dataset, up.release, up.lower_bound, up.upper_bound)
                   AND d.level = up.level + 1 AND d.path[:up.level] = up.path) AS down ON up.level < 2
 WHERE (up.dataset, up.release) = ('people', 'adds up');
SELECT bool_and(abs(a.sum + b.sum - c.sum) < 1e-6) AS ranges_add_up, bool_and(c.low < c.high AND c.stddev > 0) AS bands, count(*)
  FROM dp.region_range_rows AS a
  JOIN dp.region_range_rows AS b ON (a.dataset, a.release, a.region) = (b.dataset, b.release, b.region) AND b.lower_bound = '10'
  JOIN dp.region_range_rows AS c ON (a.dataset, a.release, a.region) = (c.dataset, c.release, c.region) AND c.grain = '30'
 WHERE (a.dataset, a.release, a.upper_bound) = ('people', 'adds up', '10');
-- a named release is served again, for nothing
SELECT epsilon_spent AS before FROM dp_budget('people') \gset
SELECT count(*), bool_and(s.sum = v.sum AND s.stddev = v.stddev) AS same
  FROM dp_region_range_sums('people', 'age', '{"[0,10)","[10,30)","[0,30)"}', 0.1, name => 'adds up') AS s
  JOIN dp.region_range_rows AS v ON (v.dataset, v.release, v.path) = ('people', 'adds up', s.path) AND int8range(v.lower_bound::bigint, v.upper_bound::bigint) = s.range;
SELECT epsilon_spent = :before AS nothing_spent FROM dp_budget('people');
SELECT * FROM error_of($$SELECT dp_region_range_sums('people', 'age', '{"[0,10)","[10,30)","[0,30)"}', 0.1, name => 'adds up', budget_shares => '{0.2,0.2,0.6}')$$);
SELECT level, level_name, region, path, grain, lower_bound, upper_bound FROM dp.region_range_rows WHERE release = 'adds up' AND grain = '10' ORDER BY level, path;
SELECT name, function, parameters - 'ranges' AS parameters FROM dp.releases WHERE dataset = 'people';
CALL dp_create_view('people', 'ages', 'adds up');
SELECT level_name, region, lower_bound, upper_bound FROM ages WHERE level = 1 AND upper_bound = 10 ORDER BY region;
SELECT column_name FROM information_schema.columns WHERE table_name = 'ages' ORDER BY ordinal_position;
SELECT bool_and(path = array_remove(ARRAY[state, county], NULL)) AS columns_are_of_the_path, count(released_at) = count(*) AS dated FROM ages;
CALL dp_set_status('people', 'adds up', 'retracted');
SELECT count(*) AS shown FROM dp.region_range_rows WHERE release = 'adds up';
CALL dp_publish('by region', '[{"function": "dp_region_range_sums", "dataset": "people", "value_column": "age", "ranges": ["[0,18)", "[18,)"], "epsilon": 2, "budget_shares": [0.2, 0.3, 0.5]}]');
SELECT count(*), count(DISTINCT region) FROM dp.region_range_rows WHERE release = 'by region';
-- the ledger says what was measured
SELECT function, epsilon, delta, rho < 2, parameters->>'value_column' AS value_column, parameters->'shares' AS shares, parameters->'regions' AS regions,
       jsonb_array_length(parameters->'measurements') AS levels
  FROM dp.ledger WHERE dataset = 'people' ORDER BY id DESC LIMIT 1;

-- amounts: clamped to their bounds, rounded to the unit; rows without one, without an age or a known county add nothing
ALTER TABLE person ADD COLUMN spent numeric, ADD COLUMN points int;
UPDATE person SET spent = (ARRAY[10.004, 250, -3, 0.005, NULL, 99.99, 5, 'NaN', 7, 8, 1])[id], points = (ARRAY[4, -9, 3, 2, 1, NULL, 7, 5, 6, 8, -1])[id];
SELECT level, path, range, round(sum::numeric, 2) AS sum, stddev < 0.01 AS exact
  FROM dp_region_range_sums('people', 'age', '{"[0,18)", "[18,)"}', 1e8, bounds => '[0,100)', amount => 'spent', max_amount => 100, amount_unit => 0.01);
SELECT level, path, round(sum) AS sum
  FROM dp_region_range_sums('people', 'age', '{"(,)"}', 1e6, bounds => '[0,100)', amount => 'points', min_amount => -5, max_amount => 5);
-- of a range outside of the bounds a notice tells
SET client_min_messages = notice;
SELECT path, range, sum FROM dp_region_range_sums('people', 'age', '{"[100,)","[0,100)"}', 1e6, bounds => '[0,100)') WHERE path = '{}';
SET client_min_messages = warning;
SELECT * FROM error_of($$SELECT dp_region_range_sums('people', 'age', '{"[100,)"}', 1e6, bounds => '[0,100)')$$);
-- the noise hides the largest amount; the ledger says which
SELECT round(a.stddev / b.stddev) AS times
  FROM dp_region_range_sums('people', 'age', '{"[0,18)"}', 1, amount => 'points', max_amount => 3, min_amount => -50) AS a
  JOIN dp_region_range_sums('people', 'age', '{"[0,18)"}', 1) AS b USING (path) WHERE a.level = 0;
SELECT parameters->>'amount' AS amount, parameters->'min_amount' AS min_amount, parameters->'max_amount' AS max_amount, parameters->>'amount_unit' AS amount_unit
  FROM dp.ledger WHERE dataset = 'people' AND parameters ? 'amount' ORDER BY id DESC LIMIT 1;
-- a name keeps the amounts apart
SELECT count(*) FROM dp_region_range_sums('people', 'age', '{"[0,18)"}', 1, name => 'points', amount => 'points', max_amount => 3);
SELECT * FROM error_of($$SELECT dp_region_range_sums('people', 'age', '{"[0,18)"}', 1, name => 'points', amount => 'points', max_amount => 4)$$);
SELECT e.* FROM (VALUES
    ($$amount => 'spent', max_amount => 9$$), ($$amount => 'points'$$), ($$max_amount => 9$$), ($$amount => 'born', max_amount => 9$$), ($$amount => 'none', max_amount => 9$$),
    ($$amount => 'points', max_amount => 4294967295, min_amount => -1$$), ($$amount => 'points', max_amount => 4294967296$$)) AS c (arguments),
  error_of(format($$SELECT dp_region_range_sums('people', 'age', '{"[0,18)"}', 1, %s)$$, arguments)) AS e;

-- units with several rows: of ann's hundred rows one counts
CREATE TABLE visit (fips int, who text, hour int);
INSERT INTO visit SELECT 1, 'ann', 9 FROM generate_series(1, 100);
INSERT INTO visit VALUES (3, 'bob', 10), (1, NULL, 10);
SELECT dp_create_dataset('visits', 'visit', '{fips}', '{state,county}', 'county', epsilon_budget => 1e9, privacy_unit => 'who', max_rows_per_unit => 1);
SELECT path, round(sum) AS sum FROM dp_region_range_sums('visits', 'hour', '{"[8,12)"}', 1e6);
-- a hierarchy of the root alone, with and without a table of groups
SELECT dp_create_dataset('flat', 'person', '{fips}', '{}', epsilon_budget => 1e9);
SELECT level, path, range, round(sum) AS sum FROM dp_region_range_sums('flat', 'age', '{"[0,18)", "(,)"}', 1e6);
SELECT dp_create_dataset('known', 'person', '{fips}', '{}', 'county', epsilon_budget => 1e9);
SELECT level, path, range, round(sum) AS sum FROM dp_region_range_sums('known', 'age', '{"[0,18)", "(,)"}', 1e6);

-- what is refused, before anything is spent
CREATE TABLE local (id int, place text, age int, weight numeric);
INSERT INTO local VALUES (1, 'x', 5, 1), (2, 'y', 7, 2);
SELECT dp_create_dataset('local', 'local', '{id}', '{place}', epsilon_budget => 1);
SELECT dp_create_dataset('sized', 'person', '{id}', '{}', size_column => 'age', epsilon_budget => 1);
CREATE TABLE weights (weight numeric UNIQUE, place text NOT NULL);
SELECT dp_create_dataset('weighed', 'local', '{weight}', '{place}', 'weights', epsilon_budget => 1);
CREATE TABLE none (id int UNIQUE, place text NOT NULL);
SELECT dp_create_dataset('none', 'local', '{id}', '{place}', 'none', epsilon_budget => 1);
SELECT e.* FROM (VALUES
    ($$'local', 'age', '{"[0,18)"}', 1$$), ($$'sized', 'id', '{"[0,18)"}', 1$$), ($$'weighed', 'age', '{"[0,18)"}', 1$$),
    ($$'none', 'age', '{"[0,18)"}', 1$$), ($$'people', 'born', '{"[0,18)"}', 1$$), ($$'people', 'aged', '{"[0,18)"}', 1$$),
    ($$'people', 'age', '{}', 1$$), ($$'people', 'age', '{"[0,18)",NULL}', 1$$), ($$NULL, 'age', '{"[0,18)"}', 1$$),
    ($$'people', NULL, '{"[0,18)"}', 1$$), ($$'people', 'age', NULL::int8range[], 1$$), ($$'people', 'age', '{"[0,18)"}', NULL$$),
    ($$'people', 'age', '{"[0,18)"}', 1, delta => NULL$$), ($$'people', 'age', '{"[0,18)"}', 1, method => NULL$$),
    ($$'people', 'age', '{"[0,18)"}', 0$$), ($$'people', 'age', '{"[0,18)"}', 1e-13$$), ($$'people', 'age', '{"[0,18)"}', 1, delta => 1$$),
    ($$'people', 'age', '{"[0,18)"}', 1, method => 'tree'$$), ($$'people', 'age', '{"[0,18)"}', 1, method => 'cascade'$$),
    ($$'people', 'age', '{"[0,18)"}', 1, budget_shares => '{1}'$$), ($$'people', 'age', '{"[0,18)"}', 1, budget_shares => '{0,0.5,0.5}'$$),
    ($$'people', 'age', '{"[0,18)"}', 1, budget_shares => '{0.5,NULL,0.5}'$$), ($$'people', 'age', '{"[0,18)"}', 1, budget_shares => '{0.5,0.5,0.5}'$$),
    ($$'people', 'age', '{"(,)"}', 1$$), ($$'people', 'born', '{"[2026-01-01,2026-02-01)"}'::daterange[], '1 month', 1$$),
    ($$'people', 'age', (SELECT array_agg(int8range(i, i + 1)) FROM generate_series(1, 3000000) AS i), 1$$)) AS c (arguments),
  error_of(format('SELECT dp_region_range_sums(%s)', arguments)) AS e;
SELECT name, epsilon_spent FROM dp.datasets WHERE name IN ('local', 'sized', 'weighed', 'none') ORDER BY name;

-- what to expect, from the table of groups alone: what the release then has
SELECT level, level_name, regions, share, method FROM dp_explain_region_ranges('people', 1, 1);
SELECT bool_and(abs(e.mean_variance / r.variance - 1) < 1e-9) AS as_released
  FROM dp_explain_region_ranges('people', 3, 0.5, workload => 'all', method => 'flat', budget_shares => '{0.2,0.3,0.5}') AS e
  JOIN (SELECT level, avg(stddev ^ 2) AS variance
          FROM dp_region_range_sums('people', 'age', '{"[0,10)","[10,20)","[20,30)","[0,20)","[10,30)","[0,30)"}', 0.5, bounds => '[0,30)', method => 'flat', budget_shares => '{0.2,0.3,0.5}')
         GROUP BY level) AS r USING (level);
SELECT level, level_name, round(mean_variance::numeric, 3) AS mean, round(max_variance::numeric, 3) AS max FROM dp_explain_region_ranges('visits', 16, 1, 1e-6, 'cascade', '{0.2,0.3,0.5}', 'prefix');
SELECT level, level_name, regions, share FROM dp_explain_region_ranges('flat', 16, 1);
SELECT e.* FROM (VALUES
    ($$'local', 8, 1$$), ($$'sized', 8, 1$$), ($$'none', 8, 1$$), ($$'nobody', 8, 1$$), ($$NULL, 8, 1$$), ($$'people', NULL, 1$$), ($$'people', 8, NULL$$), ($$'people', 0, 1$$),
    ($$'people', 8, 1, NULL$$), ($$'people', 8, 0$$), ($$'people', 8, 1, 0, 'tree'$$), ($$'people', 8, 1, 0, 'gaussian'$$), ($$'people', 8, 1, 0, 'auto', '{1}'$$), ($$'people', 8, 1, workload => 'some'$$),
    ($$'people', 16777217, 1$$)) AS c (arguments),
  error_of(format('SELECT dp_explain_region_ranges(%s)', arguments)) AS e;
-- regions are called what the table declares, and those of a release are written together
SELECT count(*) > 0 AS any, count(*) FILTER (WHERE region IS DISTINCT FROM dp.region(path)) AS others,
       count(DISTINCT (release, cmin::text)) = count(DISTINCT release) AS together FROM dp.release_region_sums;
