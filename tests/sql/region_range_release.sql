-- One histogram of each region, from bins that were counted elsewhere. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE county (fips int, state text NOT NULL, county text NOT NULL);
INSERT INTO county VALUES (1, 'A', 'a'), (2, 'A', 'b'), (3, 'B', 'c'), (NULL, 'B', 'empty'), (4, 'C', 'nobody');
CREATE TABLE person (fips int, age int, spent int, sampled int);
INSERT INTO person
SELECT fips, age, age / 2, i % 3 FROM unnest('{1,1,1,2,2,3,3,3,9,NULL,1}'::int[], '{0,17,40,18,99,5,NULL,70,30,30,-4}'::int[]) WITH ORDINALITY AS p (fips, age, i);
-- counted with SQL alone, here in several rows of some leaves
CREATE VIEW people_by_leaf AS
SELECT fips, bins_agg(age, 0, 100) AS ages, bins_agg(age, 0, 100, spent, 50) AS spent FROM person GROUP BY fips, sampled;
CREATE TABLE leaf AS SELECT * FROM people_by_leaf;
SELECT dp_create_dataset('people', 'leaf', '{fips}', '{state,county}', 'county', size_column => 'ages', epsilon_budget => 1e9, delta_budget => 1e-6);
CREATE TABLE released AS SELECT * FROM dp_region_range_release('people', 'ages', '[0,100)', 1e6);
SELECT level, path, range, round(sum) AS sum, stddev < 0.01 AS exact
  FROM released, dp_range_sums(ranges, '{"[0,18)", "[18,65)", "[0,65)", "[65,)", empty}');
SELECT path, quantile, round(value) AS value FROM released, dp_quantiles(ranges, '{0.5}') WHERE path IN ('{}', '{A}');
SELECT path, round(sum) AS sum FROM released, dp_range_sums(ranges, '{"[0,65)"}', 'adaptive') WHERE level < 2;
SELECT count(*), sum(round(value)) AS rows FROM released, dp_unnest(ranges) WHERE level = 0;
-- by every method that adds up, with bounds, with shares: what lies outside counts in the first or the last bin
SELECT m.method, count(*), sum(round(s.sum)) FILTER (WHERE level = 0) AS root, string_agg(round(s.sum)::int::text, ' ' ORDER BY path, range) FILTER (WHERE path = '{A,a}') AS a
  FROM unnest('{flat,tree_consistent:2,quad,wavelet,gaussian,cascade,prefix,optimal,minimax}'::text[]) AS m (method),
       dp_region_range_release('people', 'ages', '[10,70)', CASE WHEN m.method IN ('gaussian','cascade','prefix','optimal','minimax') THEN 1e7 ELSE 1e6 END,
                               CASE WHEN m.method IN ('gaussian','cascade','prefix','optimal','minimax') THEN 1e-9 ELSE 0 END,
                               m.method, '{0.2,0.3,0.5}') AS r,
       dp_range_sums(r.ranges, '{"[10,11)", "[11,69)", "[69,70)"}') AS s
 GROUP BY m.method ORDER BY m.method;
-- it is what dp_region_range_sums has of the rows themselves: the same regions, sums and standard deviations
SELECT dp_create_dataset('rows', 'person', '{fips}', '{state,county}', 'county', epsilon_budget => 1e9);
SELECT count(*), bool_and(abs(a.stddev / b.stddev - 1) < 1e-12) AS same_stddev
  FROM dp_region_range_release('people', 'ages', '[0,10)', 0.5, method => 'flat', budget_shares => '{0.2,0.3,0.5}') AS r
 CROSS JOIN LATERAL dp_range_sums(r.ranges, ARRAY(SELECT int8range(i, j) FROM generate_series(0, 9) AS i, generate_series(i + 1, 10) AS j)) AS a
  JOIN dp_region_range_sums('rows', 'age', ARRAY(SELECT int8range(i, j) FROM generate_series(0, 9) AS i, generate_series(i + 1, 10) AS j), 0.5,
                            bounds => '[0,10)', method => 'flat', budget_shares => '{0.2,0.3,0.5}') AS b USING (level, path, range);
SELECT bool_and(a.sum = b.sum) AS same_sums
  FROM (SELECT path, range, round(s.sum) AS sum FROM released, dp_range_sums(ranges, '{"[0,18)", "[18,65)", "[65,100)"}') AS s) AS a
  JOIN (SELECT path, range, round(sum) AS sum FROM dp_region_range_sums('rows', 'age', '{"[0,18)", "[18,65)", "[65,100)"}', 1e6, bounds => '[0,100)')) AS b USING (path, range);
-- what to expect is told beforehand, for one value per row
SELECT level, level_name, regions FROM dp_explain_region_ranges('people', 100, 1);
SELECT bool_and(abs(e.mean_variance / r.variance - 1) < 1e-9) AS as_released
  FROM dp_explain_region_ranges('people', 3, 0.5, method => 'flat', budget_shares => '{0.2,0.3,0.5}') AS e
  JOIN (SELECT level, avg(stddev ^ 2) AS variance
          FROM dp_region_range_release('people', 'ages', '[0,3)', 0.5, method => 'flat', budget_shares => '{0.2,0.3,0.5}'),
               dp_range_sums(ranges, '{"[0,1)","[1,2)","[2,3)","[0,2)","[1,3)","[0,3)"}')
         GROUP BY level) AS r USING (level);

-- under a name: adds up whatever the noise, is served again for nothing, and is shown
SELECT count(*) FROM dp_region_range_release('people', 'ages', '[0,100)', 0.1, name => 'ages', delta => 1e-9);
SELECT epsilon_spent AS before FROM dp_budget('people') \gset
SELECT count(*), bool_and(r.ranges::text = v.ranges::text) AS same, bool_and(v.level = r.level AND v.level_name IN ('all', 'state', 'county')) AS levels
  FROM dp_region_range_release('people', 'ages', '[0,100)', 0.1, name => 'ages', delta => 1e-9) AS r
  JOIN dp.release_region_ranges AS v ON (v.dataset, v.release, v.path) = ('people', 'ages', r.path);
SELECT epsilon_spent = :before AS nothing_spent FROM dp_budget('people');
SELECT bool_and(abs(up.sum - down.sum) < 1e-6) AS regions_add_up, count(*)
  FROM (SELECT v.level, v.path, s.* FROM dp.release_region_ranges AS v, dp_range_sums(ranges, '{"[0,18)","[18,65)","[0,65)"}') AS s) AS up
  JOIN LATERAL (SELECT sum(s.sum) FROM dp.release_region_ranges AS d, dp_range_sums(d.ranges, ARRAY[up.range]) AS s
                 WHERE d.level = up.level + 1 AND d.path[:up.level] = up.path) AS down ON up.level < 2;
SELECT bool_and(abs(s.sum - b.sum) < 1e-6) AS bins_add_up, count(*)
  FROM (SELECT path, s.sum FROM dp.release_region_ranges AS v, dp_range_sums(ranges, '{"[0,100)"}') AS s) AS s
  JOIN (SELECT path, sum(sum) FROM dp.region_range_rows WHERE release = 'ages' GROUP BY path) AS b USING (path);
SELECT level, level_name, region, grain, lower_bound, upper_bound, stddev > 0 AS noisy FROM dp.region_range_rows WHERE release = 'ages' AND lower_bound = '17' ORDER BY level, region;
SELECT name, function, regions, parameters FROM dp.releases WHERE dataset = 'people';
SELECT c.certificate #> '{release,regions_per_level}' AS regions, c.certificate -> 'unit' AS unit, c.certificate #> '{rows,columns}' AS columns,
       c.certificate #>> '{rows,sha256}' = (SELECT encode(sha256(convert_to(string_agg(format(E'%s,%s,%s,%s,%s,%s\n', dp.csv(path::text), grain, lower_bound, upper_bound,
            encode(float8send(sum), 'hex'), encode(float8send(stddev), 'hex')), '' ORDER BY format('%s,%s,%s,%s,%s,%s', dp.csv(path::text), grain, lower_bound, upper_bound,
            encode(float8send(sum), 'hex'), encode(float8send(stddev), 'hex')) COLLATE "C"), 'UTF8')), 'hex') FROM dp.region_range_rows WHERE release = 'ages') AS checksum
  FROM (SELECT dp_certificate('people', 'ages')) AS c (certificate);
CALL dp_create_view('people', 'ages_by_county', 'ages');
SELECT level_name, region, lower_bound, upper_bound FROM ages_by_county WHERE level = 1 AND upper_bound = 10 ORDER BY region;
SELECT count(*) AS ranges, min(label) AS first FROM dp_plot('people', 'ages');
SELECT * FROM error_of($$SELECT dp_region_range_release('people', 'ages', '[0,99)', 0.1, name => 'ages', delta => 1e-9)$$);
-- in a publication, whose cost is told before
SELECT epsilon_exact, epsilon_sum FROM dp_plan_cost('people', '[{"function": "dp_region_range_release", "bins_column": "ages", "bounds": "[0,100)", "epsilon": 1}]');
CALL dp_publish('all', '[{"function": "dp_region_range_release", "dataset": "people", "bins_column": "ages", "bounds": "[0,100)", "epsilon": 1}]');
SELECT r.name, r.status, count(v.ranges) AS regions FROM dp.releases AS r JOIN dp.release_region_ranges AS v ON (v.dataset, v.release) = (r.dataset, r.name) WHERE r.name = 'all' GROUP BY 1, 2;
CALL dp_set_status('people', 'all', 'retracted');
CALL dp_set_status('people', 'ages', 'retracted');
SELECT count(*) AS shown FROM dp.release_region_ranges;
-- the ledger says what was measured
SELECT function, epsilon, delta, rho > 0 AS has_rho, parameters - 'measurements' - 'shares' AS parameters, jsonb_array_length(parameters->'measurements') AS levels
  FROM dp.ledger WHERE dataset = 'people' AND parameters ? 'name' ORDER BY id DESC LIMIT 1;

-- another column of bins has a dataset of its own
SELECT * FROM error_of($$SELECT dp_region_range_release('people', 'spent', '[0,100)', 1)$$);
SELECT dp_create_dataset('spendings', 'leaf', '{fips}', '{state,county}', 'county', size_column => 'spent', epsilon_budget => 1e9);
-- amounts: their largest is public, and what may add more counts nowhere
SELECT path, range, round(sum) AS sum
  FROM dp_region_range_release('spendings', 'spent', '[0,100)', 1e6, max_amount => 50), dp_range_sums(ranges, '{"[0,18)", "[18,100)"}') WHERE level < 2;
SELECT round((a.stddev / b.stddev)::numeric) AS times
  FROM dp_region_range_release('people', 'ages', '[0,9)', 0.01, max_amount => 50, method => 'flat') AS r, dp_range_sums(r.ranges, '{"[0,9)"}') AS a,
       dp_region_range_release('people', 'ages', '[0,9)', 0.01, method => 'flat') AS q, dp_range_sums(q.ranges, '{"[0,9)"}') AS b
 WHERE r.level = 2 AND q.level = 2 AND r.path = '{A,a}' AND q.path = r.path;
SELECT round(sum) AS none FROM dp_region_range_release('spendings', 'spent', '[0,100)', 1e6, max_amount => 49), dp_range_sums(ranges, '{"(,)"}') WHERE level = 0;
SELECT round(sum) AS all FROM dp_region_range_release('people', 'ages', '[0,100)', 1e8, max_amount => 49), dp_range_sums(ranges, '{"(,)"}') WHERE level = 0;
-- rows with other bounds and largest amounts, of no known county, NULL: no error after the charge
INSERT INTO leaf (fips, ages) VALUES (3, '[0,5){4:2}'), (3, '[90,200){150:3}'), (3, '[0,100)<=2{50:7}'), (3, NULL), (77, '[0,100){1:1}'), (NULL, '[0,100){1:1}');
SELECT path, string_agg(round(sum)::int::text, ' ' ORDER BY range) AS sums
  FROM dp_region_range_release('people', 'ages', '[0,100)', 1e6), dp_range_sums(ranges, '{"[0,18)", "[18,99)", "[99,100)"}') WHERE level = 1 GROUP BY path ORDER BY path;
-- units with several rows, left out by whoever counted
SELECT dp_create_dataset('units', 'leaf', '{fips}', '{state,county}', 'county', size_column => 'ages', privacy_unit => 'person', max_rows_per_unit => 3, epsilon_budget => 1e9);
SELECT round((a.stddev / b.stddev)::numeric, 1) AS times
  FROM dp_region_range_release('units', 'ages', '[0,9)', 0.01, method => 'flat') AS r, dp_range_sums(r.ranges, '{"[0,9)"}') AS a,
       dp_region_range_release('people', 'ages', '[0,9)', 0.01, method => 'flat') AS q, dp_range_sums(q.ranges, '{"[0,9)"}') AS b
 WHERE r.level = 0 AND q.level = 0;
-- the root alone, with and without a table of groups
SELECT dp_create_dataset('flat', 'leaf', '{}', '{}', size_column => 'ages', epsilon_budget => 1e9);
SELECT level, path, round(sum) AS sum FROM dp_region_range_release('flat', 'ages', '[0,100)', 1e6), dp_range_sums(ranges, '{"(,)"}');
SELECT dp_create_dataset('known', 'leaf', '{fips}', '{}', 'county', size_column => 'ages', epsilon_budget => 1e9);
SELECT level, path, round(sum) AS sum FROM dp_region_range_release('known', 'ages', '[0,100)', 1e6), dp_range_sums(ranges, '{"(,)"}');

-- such a dataset has no groups of sizes, and rows that are no entities
SELECT e.* FROM (VALUES
    ($$dp_hierarchy_release('people', 1)$$), ($$dp_range_sums('people', 'fips', '{"[0,9)"}', 1)$$), ($$dp_region_range_sums('people', 'fips', '{"[0,9)"}', 1)$$),
    ($$dp_rectangle_sums('people', 'fips', 'fips', '{"[0,9)"}', '{"[0,9)"}', 1)$$), ($$dp_range_release('[0,9){}', 1, dataset => 'people')$$),
    ($$dp_leaf_query('people')$$), ($$dp_explain_hierarchy('people', 1)$$),
    ($$dp_create_dataset('no', 'leaf', '{}', '{fips}', size_column => 'ages', epsilon_budget => 1)$$),
    ($$dp_create_dataset('no', 'people_by_leaf', '{fips}', '{}', size_column => 'ages', leaves => 'released', epsilon_budget => 1)$$)) AS c (call),
  error_of('SELECT ' || call) AS e;
-- what is refused, before anything is spent
SELECT epsilon_spent AS before FROM dp_budget('people') \gset
SELECT e.* FROM (VALUES
    ($$'rows', 'age', '[0,9)', 1$$), ($$'people', 'fips', '[0,9)', 1$$), ($$'people', 'nothing', '[0,9)', 1$$), ($$'people', 'ages', '[0,)', 1$$), ($$'people', 'ages', 'empty', 1$$),
    ($$'people', 'ages', '[0,16777217)', 1$$), ($$'people', 'ages', '[0,9000000)', 1$$), ($$'nobody', 'ages', '[0,9)', 1$$),
    ($$NULL, 'ages', '[0,9)', 1$$), ($$'people', NULL, '[0,9)', 1$$), ($$'people', 'ages', NULL, 1$$), ($$'people', 'ages', '[0,9)', NULL$$), ($$'people', 'ages', '[0,9)', 1, NULL$$),
    ($$'people', 'ages', '[0,9)', 1, method => NULL$$), ($$'people', 'ages', '[0,9)', 1, max_amount => NULL$$), ($$'people', 'ages', '[0,9)', 1, max_amount => 0$$),
    ($$'people', 'ages', '[0,9)', 1, max_amount => 4294967296$$), ($$'units', 'ages', '[0,9)', 1, max_amount => 4294967295$$), ($$'people', 'ages', '[0,9)', 0$$),
    ($$'people', 'ages', '[0,9)', 1, 1$$), ($$'people', 'ages', '[0,9)', 1, method => 'tree'$$), ($$'people', 'ages', '[0,9)', 1, method => 'aware'$$), ($$'people', 'ages', '[0,9)', 1, method => 'cascade'$$),
    ($$'people', 'ages', '[0,9)', 1, budget_shares => '{1}'$$), ($$'people', 'ages', '[0,9)', 1, budget_shares => '{0.5,NULL,0.5}'$$), ($$'people', 'ages', '[0,9)', 1e-13$$)) AS c (arguments),
  error_of(format('SELECT dp_region_range_release(%s)', arguments)) AS e;
SELECT epsilon_spent = :before AS nothing_spent FROM dp_budget('people');
-- regions are called what the table declares, and those of a release are written together
SELECT count(*) > 0 AS any, count(*) FILTER (WHERE region IS DISTINCT FROM dp.region(path)) AS others,
       count(DISTINCT (release, cmin::text)) = count(DISTINCT release) AS together FROM dp.release_region_bins;
