-- Grids: exact counts per cell in one step, their release in another. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
-- text, binary and jsonb forms
SELECT '[0,9)x[-2,2){3/-1:2, 8/1:5}'::grid, ' [ 0, 9 ) x [-2,2) { 3/1:1,0 / -2 : 2, 3/1:1, 1/1:0 } '::grid AS any_order, '[5,6)x[5,6){}'::grid AS empty;
SELECT '[0,9)x[-2,2){3/-1:2, 8/1:5}'::grid::jsonb;
CREATE TABLE stored (g grid);
INSERT INTO stored SELECT grid_agg(s * s % 1024, s % 700, '[0,1024)', '[0,1024)') FROM generate_series(1, 500) AS s;
INSERT INTO stored VALUES (NULL), ('[-3,4)x[0,1){-3/0:5, 3/0:1}'), ('[0,4096)x[0,4096){}'),
                          ('[9223372036854775806,9223372036854775807)x[-9223372036854775808,-9223372036854775807){9223372036854775806/-9223372036854775808:9223372036854775807}');
SELECT max(pg_column_size(g)) < 2000 AS compact, count(g) FROM stored;
SELECT count(*) AS rows, count(*) FILTER (WHERE g::jsonb->'counts' = regexp_replace(substring(g::text, '{.*'), '(-?\d+/-?\d+):', '"\1":', 'g')::jsonb) AS right FROM stored;
CREATE TABLE copied (LIKE stored);
\copy stored TO PROGRAM 'cat > /tmp/pg_dp_grids.bin' (FORMAT binary)
\copy copied FROM PROGRAM 'cat /tmp/pg_dp_grids.bin; rm /tmp/pg_dp_grids.bin' (FORMAT binary)
SELECT count(*) AS rows, count(*) FILTER (WHERE s.g::text = c.g::text) AS equal FROM stored AS s JOIN copied AS c ON s.g::text IS NOT DISTINCT FROM c.g::text;
SELECT e.* FROM (VALUES (''), ('[0,9){1:2}'), ('[0,9)x[0,9){1:1}'), ('[0,9)x[0,9){9/1:1}'), ('[0,9)x[0,9){1/1:-1}'), ('[0,9)x[0,9){1/1:9223372036854775807, 1/1:1}'),
                        ('[9,9)x[0,9){}'), ('[0,x)x[0,9){}'), ('[0,4097)x[0,4096){}')) AS bad (input),
       error_of(format('SELECT %L::grid', input)) AS e;

-- what is outside counts in the nearest cell, a NULL on either side nowhere; without rows there are no bounds
SELECT grid_agg(r, c, '[0,10)', '[0,3)') FROM (VALUES (3, 1), (3, 1), (0, 0), (9, 9), (10, -4), (-1, 2), (9223372036854775807, 1), (NULL, 1), (1, NULL)) AS v (r, c);
SELECT grid_agg(r, 1, '[-5,5)', '[0,2]') AS all_null FROM (VALUES (NULL::bigint)) AS v (r);
SELECT grid_agg(r, r, '[0,9)', '[0,9)') AS no_rows, grid_agg('[0,1)x[0,1){}'::grid) FILTER (WHERE false) AS no_values FROM (VALUES (1)) AS v (r) WHERE r < 0;
SELECT grid_agg(g) FROM (VALUES ('[0,5)x[0,2){1/1:2}'::grid), (NULL), ('[0,5)x[0,2){1/1:1, 4/0:4}')) AS v (g);
SELECT grid_agg(g) AS saturated FROM (VALUES ('[0,5)x[0,2){1/1:9223372036854775806}'::grid), ('[0,5)x[0,2){1/1:3, 2/0:1}')) AS v (g);
SELECT grid_add('[0,5)x[0,2){1/1:9223372036854775807}', 1, 1, '[0,5)', '[0,2)'), grid_merge('[0,5)x[0,2){1/1:1}', '[0,5)x[0,2){2/0:2}'); -- outside of any aggregation
SELECT r % 2 AS odd, grid_agg(r, r * r, '[0,10)', '[0,20)') FROM generate_series(1, 6) AS r GROUP BY 1 ORDER BY 1;
SELECT e.* FROM (VALUES ($$1, 1, NULL, '[0,9)'$$), ($$1, 1, '[0,9)', NULL$$), ($$1, 1, 'empty', '[0,9)'$$), ($$1, 1, '[0,9)', '[0,)'$$), ($$1, 1, '[0,4097)', '[0,4096)'$$),
                        ($$1, 1, '[0,16777217)', '[0,1)'$$), ($$1, 1, int8range(0, s + 1), '[0,9)'$$)) AS bad (arguments),
       error_of(format('SELECT grid_agg(%s) FROM generate_series(1, 2) AS s', arguments)) AS e;
SELECT * FROM error_of($$SELECT grid_agg(g) FROM (VALUES ('[0,5)x[0,2){}'::grid), ('[0,2)x[0,5){}')) AS v (g)$$);
SELECT * FROM error_of($$SELECT s, grid_agg(s, s, '[0,4096)', '[0,4096)') FROM generate_series(1, 30) AS s GROUP BY s$$);

-- a large table is aggregated in parallel, and the parts add up
CREATE TABLE large AS SELECT (i * 7919) % 100 AS x, i * 31 % 47 AS y, i % 5 AS day FROM generate_series(1, 200000::bigint) AS i;
ANALYZE large;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
EXPLAIN (COSTS OFF) SELECT grid_agg(x, y, '[0,90)', '[0,47)') FROM large;
CREATE TABLE parts AS SELECT day, grid_agg(x, y, '[0,90)', '[0,47)') AS g FROM large GROUP BY day;
CREATE TABLE whole AS SELECT grid_agg(x, y, '[0,90)', '[0,47)') AS g FROM large;
SET max_parallel_workers_per_gather = 0;
SELECT w.g::text = (SELECT grid_agg(x, y, '[0,90)', '[0,47)')::text FROM large) AS whole_agrees,
       w.g::text = (SELECT grid_agg(g ORDER BY day)::text FROM parts) AS parts_agree, w.g::text = (SELECT grid_agg(g ORDER BY -day)::text FROM parts) AS backwards,
       (SELECT sum(value::bigint) FROM jsonb_each_text(w.g::jsonb->'counts')) AS rows
  FROM whole AS w;

-- released: each answer is what plain SQL counts, by every method
CREATE TABLE released AS
  SELECT method, delta, dp_grid_release((SELECT g FROM whole), 1e6, delta, method) AS g
    FROM (VALUES ('auto', 0), ('flat', 0), ('tree_consistent:3', 0), ('auto', 1e-9), ('gaussian', 1e-9), ('tree_consistent', 1e-9), ('cascade', 1e-9), ('optimal', 1e-9)) AS m (method, delta);
CREATE TABLE asked AS SELECT int8range(x, x + w) AS r, int8range(y, y + h) AS c FROM (VALUES (0, 6), (1, 1), (20, 40), (85, 9)) AS r (x, w), (VALUES (0, 1), (9, 30), (40, 99)) AS c (y, h);
CREATE TABLE truth AS SELECT r, c, count(*) AS n FROM asked JOIN large ON least(x, 89) <@ r AND y <@ c GROUP BY r, c;
SELECT method, delta, count(*) AS answers, bool_and(round(sum) = n AND round(dp_rectangle_sum(g, row_range, column_range)) = n) AS exact, max(stddev) < 0.001 AS precise
  FROM released, (SELECT array_agg(r) AS rs, array_agg(c) AS cs FROM asked) AS a, LATERAL dp_rectangle_sums(g, rs, cs) AS s JOIN truth ON (r, c) = (row_range, column_range)
 GROUP BY method, delta ORDER BY method, delta;
-- both forms read back, and answer alike
CREATE TABLE again (LIKE released);
\copy released TO PROGRAM 'cat > /tmp/pg_dp_grids.bin' (FORMAT binary)
\copy again FROM PROGRAM 'cat /tmp/pg_dp_grids.bin; rm /tmp/pg_dp_grids.bin' (FORMAT binary)
SELECT count(*) AS releases, bool_and(r.g::text = a.g::text) AS binary, bool_and(r.g::text::dp_grid::text = r.g::text) AS text, bool_and(r.g::jsonb = r.g::text::jsonb) AS jsonb
  FROM released AS r JOIN again AS a USING (method, delta);
SELECT count(*) AS cells, min(row_bin), max(row_bin), min(column_bin), max(column_bin), round(sum(value)) AS rows FROM released, dp_unnest(g) WHERE method = 'cascade';
SELECT row_bin, column_bin, round(value) AS value FROM dp_unnest(dp_grid_release('[-1,1)x[5,7){-1/6:3, 0/5:2}', 1e6));
SELECT row_range, column_range, round(sum) AS sum, stddev > 0 AS noisy
  FROM dp_rectangle_sums(dp_grid_release('[-1,1)x[5,7){-1/6:3, 0/5:2}', 1e6), '{"(,)",empty,"(,0)","[7,9)"}', '{"(,)","(,)","[6,)","(,)"}');
-- the variances of the answers are those that are told beforehand
SELECT abs(avg(stddev ^ 2) / min(mean_variance) - 1) < 1e-9 AS mean_is_told
  FROM dp_explain_rectangles(6, 5, 0.5, methods => '{tree_consistent}') AS e,
       (SELECT array_agg(int8range(a, b)) AS rs, array_agg(int8range(c, d)) AS cs FROM generate_series(0, 5) AS a, generate_series(1, 6) AS b, generate_series(0, 4) AS c, generate_series(1, 5) AS d WHERE a < b AND c < d) AS q,
       LATERAL dp_rectangle_sums(dp_grid_release('[0,6)x[0,5){}', 0.5, method => 'tree_consistent'), rs, cs);
-- a million cells
CREATE TABLE million AS SELECT dp_grid_release('[0,1024)x[0,1024){5/5:7}', 1e6, 1e-9, 'optimal') AS g;
SELECT round(dp_rectangle_sum(g, '[0,9)', '[5,1000)')) AS sum, pg_column_size(g) < 9000000 AS as_stored FROM million;

-- charged; under a name once, stored before it is seen
CREATE TABLE place (id int, x int, y bigint);
INSERT INTO place SELECT i, i % 7, i % 3 FROM generate_series(1, 100) AS i;
SELECT dp_create_dataset('charged', 'place', '{id}', '{}', epsilon_budget => 1e6);
BEGIN;
SELECT round(dp_rectangle_sum(dp_grid_release(grid_agg(x, y, '[0,7)', '[0,3)'), 1e5, dataset => 'charged', name => 'map'), '[0,2)', '(,)')) AS sum FROM place;
ROLLBACK;
SELECT round(dp_rectangle_sum(dp_grid_release('[0,7)x[0,3){0/0:999}', 1e5, dataset => 'charged', name => 'map'), '[0,2)', '(,)')) AS whatever_is_counted;
SELECT dataset, release, round(sum) AS sum FROM dp.release_grids, dp_rectangle_sums(grid, '{"[0,2)"}', '{"(,)"}');
SELECT row_lower, row_upper, column_lower, column_upper, round(sum) AS sum, (low + high) / 2 = sum AS centred FROM dp.rectangle_rows WHERE release = 'map' AND row_lower < 2 ORDER BY 1, 3;
SELECT function, epsilon, parameters FROM dp.releases;
SELECT function, epsilon, parameters - 'measurements' AS parameters FROM dp.ledger WHERE dataset = 'charged';
SELECT c->'release'->>'function' AS function, c->'release'->>'counted_by' AS counted_by, c->'rows'->>'count' AS rows, c->'rows'->>'columns' AS columns FROM dp_certificate('charged', 'map') AS c;
SELECT * FROM error_of($$SELECT dp_grid_release('[0,7)x[0,4){}', 1e5, dataset => 'charged', name => 'map')$$);
SELECT * FROM error_of($$SELECT dp_grid_release('[0,7)x[0,3){}', 2e6, dataset => 'charged')$$);
SELECT * FROM error_of($$CALL dp_create_view('charged', 'v', 'map')$$);
SELECT * FROM error_of($$SELECT dp_plot('charged', 'map')$$);
SELECT epsilon_spent, releases FROM dp_budget('charged');
-- a draft is its owner's, a retracted one nobody's; exact counts are for whoever may read the table they are in
CALL dp_set_status('charged', 'map', 'draft');
CREATE ROLE dp_test_analyst;
GRANT USAGE ON SCHEMA dp TO dp_test_analyst;
SELECT count(*) AS owner FROM dp.release_grids;
SET ROLE dp_test_analyst;
SELECT count(*) AS others FROM dp.release_grids;
SELECT * FROM error_of('SELECT g FROM whole');
SELECT * FROM error_of('SELECT grid FROM dp.release_grid');
SELECT * FROM error_of($$SELECT dp_grid_release('[0,7)x[0,3){}', 1, dataset => 'charged')$$);
RESET ROLE;
SELECT dp_grant('charged', 'dp_test_analyst', 1000, require_name => false);
SET ROLE dp_test_analyst;
SELECT dp_grid_release('[0,7)x[0,3){}', 200, dataset => 'charged') IS NOT NULL AS released;
SELECT * FROM error_of($$SELECT dp_grid_release('[0,7)x[0,3){}', 1, dataset => 'charged', name => 'made up')$$);
RESET ROLE;
CALL dp_set_status('charged', 'map', 'retracted');
SELECT count(*) AS nobody FROM dp.release_grids;

-- refused; nothing is spent
SELECT dp_create_dataset('sized', 'place', '{id}', '{}', size_column => 'y', epsilon_budget => 1);
CREATE TABLE places AS SELECT id FROM place;
SELECT dp_create_dataset('units', 'place', '{id}', '{}', 'places', epsilon_budget => 1, privacy_unit => 'x', max_rows_per_unit => 3);
SELECT e.* FROM (VALUES ($$NULL, 1$$), ($$'[0,3)x[0,3){}', NULL$$), ($$'[0,3)x[0,3){}', 0$$), ($$'[0,3)x[0,3){}', 1, 2$$), ($$'[0,3)x[0,3){}', 1, NULL$$), ($$'[0,3)x[0,3){}', 1, 0, 'optimal'$$),
                        ($$'[0,3)x[0,3){}', 1, 0, 'wavelet'$$), ($$'[0,3)x[0,3){}', 1, method => NULL$$), ($$'[0,1025)x[0,3){}', 1, 1e-9, 'optimal'$$), ($$'[0,3)x[0,3){}', 1, name => 'x'$$),
                        ($$'[0,3)x[0,3){}', 1, dataset => 'none'$$), ($$'[0,3)x[0,3){}', 1, dataset => 'sized'$$), ($$'[0,3)x[0,3){}', 1, dataset => 'units'$$)) AS bad (arguments),
       error_of(format('SELECT dp_grid_release(%s)', arguments)) AS e;
SELECT sum(releases) AS charges FROM (VALUES ('sized'), ('units')) AS d (name), dp_budget(name);
SELECT e.* FROM (VALUES ($$NULL, '{"[0,1)"}', '{"[0,1)"}'$$), ($$g, NULL, '{"[0,1)"}'$$), ($$g, '{"[0,1)"}', '{NULL}'$$), ($$g, '{"[0,1)","[0,1)"}', '{"[0,1)"}'$$)) AS bad (arguments),
       error_of(format('SELECT a.* FROM released, dp_rectangle_sums(%s) AS a', arguments)) AS e;
SELECT count(*) AS of_nothing FROM released, dp_rectangle_sums(g, '{}', '{}');
SELECT dp_rectangle_sum(NULL, '[0,1)', '[0,1)') IS NULL AS unknown;
-- forged values: refused where they are read, or without an answer
CREATE TABLE forged (what text, json jsonb);
INSERT INTO forged SELECT b.*
  FROM dp_grid_release('[0,3)x[0,2){}', 1, method => 'flat') AS g, LATERAL (SELECT g::jsonb AS j) AS j,
       LATERAL (VALUES ('other bounds', jsonb_set(j, '{row_hi}', '4')), ('too few values', jsonb_set(j, '{values}', '[1]')), ('other cells', jsonb_set(j, '{parameters,grid,rows}', '6')),
                       ('too many cells', jsonb_set(j, '{parameters,grid,rows}', '18446744073709551615')), ('no tree', jsonb_set(j, '{parameters,branching}', '0')),
                       ('another method', jsonb_set(j, '{parameters,method}', '"Optimal"')), ('a method of lines', jsonb_set(j, '{parameters,method}', '"Prefix"')),
                       ('no numbers', jsonb_set(j, '{values}', '["x"]')), ('no parameters', j - 'parameters')) AS b (what, json);
SELECT what, e.* FROM forged, error_of(format('SELECT %L::dp_grid', json)) AS e ORDER BY what;
CREATE TABLE noiseless AS
  SELECT jsonb_set(g::jsonb, '{parameters,calibration,PerGroup,0,Laplace,epsilon}', '-1')::text::dp_grid AS g FROM dp_grid_release('[0,3)x[0,2){}', 1, method => 'flat') AS g;
SELECT dp_rectangle_sum(g, '[0,3)', '[0,2)') IS NOT NULL AS has_values FROM noiseless;
SELECT * FROM error_of($$SELECT a.* FROM noiseless, dp_rectangle_sums(g, '{"[0,1)"}', '{"[0,1)"}') AS a$$);
SELECT * FROM error_of($$SELECT a.* FROM noiseless, dp_unnest(g) AS a$$);
SELECT * FROM error_of($$SELECT '[0,3)x[0,2){}'::grid::dp_grid$$);
SELECT * FROM error_of($$SELECT dp_rectangle_sum('[0,3)x[0,2){}'::grid, '[0,1)', '[0,1)')$$);
DROP OWNED BY dp_test_analyst;
DROP ROLE dp_test_analyst;
