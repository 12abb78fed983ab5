-- Sums over rectangles of two columns. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE place (id int, x smallint, y bigint, label text, who text);
INSERT INTO place SELECT i, x, y, 'p', CASE WHEN i <= 4 THEN 'ann' ELSE 'q' || i END
  FROM (VALUES (1, 1, 10), (2, 1, 10), (3, 2, 10), (4, 2, 12), (5, 5, 15), (6, -9, 10), (7, 99, 99), (8, NULL, 10), (9, 1, NULL), (10, 0, 9223372036854775807),
               (11, 1, -9223372036854775808)) AS p (i, x, y);
SELECT dp_create_dataset('places', 'place', '{id}', '{}', epsilon_budget => 1e9, delta_budget => 1e-6);
SELECT * FROM dp_rectangle_sums('places', 'x', 'y', '{"[1,3)","[1,3)","[0,6)",empty,"(,)","[0,6)"}', '{"[10,11)","[10,13)","(,)","[10,11)","(,)",empty}', 1e6);
-- each is what plain SQL counts, by every method
CREATE TABLE asked AS
  SELECT array_agg(int8range(x, x + w)) AS rs, array_agg(int8range(y, y + h)) AS cs FROM (VALUES (0, 6), (1, 1), (1, 3), (-9, 4)) AS r (x, w), (VALUES (10, 1), (9, 4), (12, 9)) AS c (y, h);
SELECT method, delta, count(*) AS answers,
       bool_and(round(sum) = (SELECT count(*) FROM place WHERE x::bigint <@ row_range AND y <@ column_range)) AS exact
  FROM asked, (VALUES ('auto', 0), ('flat', 0), ('tree_consistent', 0), ('tree_consistent:3', 0), ('auto', 1e-9), ('gaussian', 1e-9), ('tree_consistent', 1e-9),
                      ('cascade', 1e-9), ('cascade:3', 1e-9), ('optimal', 1e-9)) AS m (method, delta),
       LATERAL (SELECT * FROM dp_rectangle_sums('places', 'x', 'y', rs, cs, 1e6, delta, method => method)) AS s
 GROUP BY method, delta ORDER BY method, delta;
-- with bounds, what is outside counts in the nearest row and column
SELECT row_range, column_range, sum FROM dp_rectangle_sums('places', 'x', 'y', '{"(,)","(,2)","[5,9)"}', '{"(,)","[10,11)","(,)"}', 1e6, row_bounds => '[0,6)', column_bounds => '[10,16)');
-- where a side lies outside of them a notice tells
SET client_min_messages = notice;
SELECT row_range, column_range, sum FROM dp_rectangle_sums('places', 'x', 'y', '{"[6,9)","(,2)","(,2)"}', '{"[10,11)","[0,10)","[10,11)"}', 1e6, row_bounds => '[0,6)', column_bounds => '[10,16)');
SET client_min_messages = warning;
-- and where one does of each rectangle nothing is charged
SELECT * FROM error_of($$SELECT dp_rectangle_sums('places', 'x', 'y', '{"[6,9)","(,2)",empty}', '{"[10,11)","[0,10)","[10,11)"}', 1e6, row_bounds => '[0,6)', column_bounds => '[10,16)')$$);
-- a column by itself, and of one unit of privacy with several rows so many
SELECT row_range, sum FROM dp_rectangle_sums('places', 'x', 'x', '{"[1,2)","[1,2)"}', '{"[1,2)","[2,3)"}', 1e6);
CREATE TABLE places AS SELECT id FROM place;
SELECT dp_create_dataset('units', 'place', '{id}', '{}', 'places', epsilon_budget => 1e9, privacy_unit => 'who', max_rows_per_unit => 3);
SELECT sum FROM dp_rectangle_sums('units', 'x', 'y', '{"[1,3)"}', '{"[10,13)"}', 1e6);
SELECT round(one.stddev) AS one_row, round(three.stddev) AS three_rows
  FROM dp_rectangle_sums('places', 'x', 'y', '{"[1,2)"}', '{"[1,2)"}', 0.01, method => 'flat') AS one, dp_rectangle_sums('units', 'x', 'y', '{"[1,2)"}', '{"[1,2)"}', 0.01, method => 'flat') AS three;
-- amounts: clamped to their bounds, rounded to the unit; a row without one adds nothing
ALTER TABLE place ADD COLUMN paid numeric;
UPDATE place SET paid = (ARRAY[1.004, 60, -2.5, 0.005, NULL, 'NaN', 7, 8, 9, 3, 4])[id];
SELECT row_range, column_range, round(sum::numeric, 2) AS sum, stddev < 0.01 AS exact
  FROM dp_rectangle_sums('places', 'x', 'y', '{"[1,3)","[0,6)","(,)"}', '{"[10,13)","(,)","(,)"}', 1e8, amount => 'paid', max_amount => 50, min_amount => -2, amount_unit => 0.01);
SELECT round(a.stddev / b.stddev) AS times
  FROM dp_rectangle_sums('places', 'x', 'y', '{"[1,2)"}', '{"[1,2)"}', 0.01, method => 'flat', amount => 'id', max_amount => 3, min_amount => -40) AS a,
       dp_rectangle_sums('places', 'x', 'y', '{"[1,2)"}', '{"[1,2)"}', 0.01, method => 'flat') AS b;
SELECT parameters->>'amount' AS amount, parameters->'min_amount' AS min_amount, parameters->'max_amount' AS max_amount FROM dp.ledger WHERE dataset = 'places' AND parameters ? 'amount' ORDER BY id DESC LIMIT 1;
SELECT e.* FROM (VALUES ($$amount => 'paid', max_amount => 9$$), ($$amount => 'id'$$), ($$max_amount => 9$$), ($$amount => 'label', max_amount => 9$$)) AS c (arguments),
  error_of(format($$SELECT dp_rectangle_sums('places', 'x', 'y', '{"[1,2)"}', '{"[1,2)"}', 1, %s)$$, arguments)) AS e;

-- charged, under a name once
SELECT dp_create_dataset('charged', 'place', '{id}', '{}', epsilon_budget => 1);
SELECT count(*) FROM dp_rectangle_sums('charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 0.25);
SELECT row_range, column_range, sum IS NOT NULL AS told FROM dp_rectangle_sums('charged', 'x', 'y', '{"[0,9)",empty,"(,7)"}', '{"[0,9)","[0,9)","[7,)"}', 0.5, name => 'map');
CREATE TABLE first AS SELECT * FROM dp_rectangle_sums('charged', 'x', 'y', '{"[0,9)",empty,"(,7)"}', '{"[0,9)","[0,9)","[7,)"}', 0.5, name => 'map');
SELECT count(*) AS same FROM first JOIN dp_rectangle_sums('charged', 'x', 'y', '{"[0,9)",empty,"(,7)"}', '{"[0,9)","[0,9)","[7,)"}', 0.5, name => 'map') AS again USING (row_range, column_range, sum, stddev);
SELECT row_lower, row_upper, column_lower, column_upper, sum = any (SELECT sum FROM first) AS stored, round((low + high) / 2) = round(sum) AS centred, round(((high - low) / 2 / nullif(stddev, 0))::numeric, 3) AS deviations
  FROM dp.rectangle_rows WHERE release = 'map' ORDER BY row_lower, row_upper;
SELECT function, epsilon, parameters - 'method' AS parameters, status, regions FROM dp.releases;
SELECT function, epsilon, parameters - '{measurements,method}'::text[] AS parameters FROM dp.ledger WHERE dataset = 'charged' ORDER BY id;
SELECT * FROM error_of($$SELECT dp_rectangle_sums('charged', 'x', 'y', '{"[0,8)",empty,"(,7)"}', '{"[0,9)","[0,9)","[7,)"}', 0.5, name => 'map')$$);
SELECT * FROM error_of($$SELECT dp_rectangle_sums('charged', 'y', 'x', '{"[0,9)",empty,"(,7)"}', '{"[0,9)","[0,9)","[7,)"}', 0.5, name => 'map')$$);
SELECT * FROM error_of($$SELECT dp_rectangle_sums('charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 0.5)$$);
SELECT * FROM error_of($$CALL dp_create_view('charged', 'v', 'map')$$);
SELECT epsilon_spent, releases FROM dp_budget('charged');
-- a draft is its owner's, a retracted one nobody's
CALL dp_set_status('charged', 'map', 'draft');
CREATE ROLE dp_test_analyst;
GRANT USAGE ON SCHEMA dp TO dp_test_analyst;
SELECT dp_grant('charged', 'dp_test_analyst', 0.2, require_name => false);
SELECT count(*) AS owner FROM dp.rectangle_rows;
SET ROLE dp_test_analyst;
SELECT count(*) AS others FROM dp.rectangle_rows;
SELECT * FROM error_of('SELECT x FROM place');
SELECT count(*) FROM dp_rectangle_sums('charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 0.125);
SELECT * FROM error_of($$SELECT dp_rectangle_sums('charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 0.125)$$);
SELECT * FROM error_of($$SELECT dp_rectangle_sums('places', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 0.125)$$);
RESET ROLE;
CALL dp_set_status('charged', 'map', 'retracted');
SELECT count(*) AS nobody FROM dp.rectangle_rows;

-- among several releases
SELECT dp_create_dataset('published', 'place', '{id}', '{}', epsilon_budget => 1);
CALL dp_publish('maps', '[{"dataset": "published", "function": "dp_rectangle_sums", "row_column": "x", "column_column": "y", "row_ranges": ["[0,9)", "[0,3)"], "column_ranges": ["[0,9)", "(,)"],
    "column_bounds": "[0,20)", "epsilon": 0.25}, {"dataset": "published", "name": "xs", "function": "dp_range_sums", "value_column": "x", "ranges": ["[0,9)"], "epsilon": 0.25}]');
SELECT name, function, status, publication FROM dp.releases WHERE dataset = 'published' ORDER BY name;
SELECT release, row_lower, row_upper, column_lower, column_upper FROM dp.rectangle_rows WHERE release = 'maps' ORDER BY row_upper;

-- arguments that are refused; nothing is spent
SELECT dp_create_dataset('sized', 'place', '{id}', '{}', size_column => 'y', epsilon_budget => 1);
SELECT e.* FROM (VALUES
    ($$NULL, 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1$$), ($$'charged', NULL, 'y', '{"[0,9)"}', '{"[0,9)"}', 1$$), ($$'charged', 'x', NULL, '{"[0,9)"}', '{"[0,9)"}', 1$$),
    ($$'charged', 'x', 'y', NULL, '{"[0,9)"}', 1$$), ($$'charged', 'x', 'y', '{"[0,9)"}', NULL, 1$$), ($$'charged', 'x', 'y', '{}', '{}', 1$$),
    ($$'charged', 'x', 'y', '{"[0,9)"}', '{NULL}', 1$$), ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)","[0,9)"}', 1$$),
    ($$'charged', 'x', 'y', '{"(,)"}', '{"[0,9)"}', 1$$), ($$'charged', 'x', 'y', '{"[0,9)"}', '{"(,)"}', 1$$),
    ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1, row_bounds => '[0,)'$$), ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1, column_bounds => 'empty'$$),
    ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1, column_bounds => '[0,99999999)'$$), ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', NULL$$),
    ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 0$$), ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1, NULL$$), ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1, 1$$),
    ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1, method => NULL$$), ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1, method => 'wavelet'$$),
    ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1, method => 'cascade'$$), ($$'charged', 'X', 'y', '{"[0,9)"}', '{"[0,9)"}', 1$$),
    ($$'charged', 'x', 'label', '{"[0,9)"}', '{"[0,9)"}', 1$$), ($$'sized', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1$$), ($$'nowhere', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1$$),
    ($$'charged', 'x', 'y', '{"[0,9)"}', '{"[0,9)"}', 1, name => ''$$),
    ($$'charged', 'x', 'y', ARRAY(SELECT int8range(i, i + 1) FROM generate_series(1, 5000) AS i), ARRAY(SELECT int8range(i, i + 1) FROM generate_series(1, 5000) AS i), 1$$))
    AS bad(arguments), error_of(format('SELECT dp_rectangle_sums(%s)', arguments)) AS e;
SELECT epsilon_spent, releases FROM dp_budget('charged');

-- what it would be like
SELECT method, branching, round(mean_variance::numeric, 2) AS mean, round(max_variance::numeric, 2) AS max, round(svd_ratio::numeric, 3) AS ratio, chosen FROM dp_explain_rectangles(64, 64, 1, 1e-6);
SELECT method, branching, max_variance IS NULL AS unknown, round(svd_ratio::numeric, 2) AS ratio, chosen FROM dp_explain_rectangles(300, 200, 1, 0, '{auto,tree_consistent:2,flat}');
SELECT e.* FROM (VALUES ('NULL, 4, 1'), ('4, NULL, 1'), ('4, 4, NULL'), ('4, 4, 1, NULL'), ('0, 4, 1'), ('4097, 4096, 1'), ('4, 4, 0'), ('4, 4, 1, 1'), ('4, 4, 1, 0, ''{NULL}'''),
    ('4, 4, 1, 0, ''{tree}'''), ('4, 4, 1, 0, ''{cascade}'''), ('4, 4, 1, 0, ''{tree_consistent:1}'''), ('4, 1025, 1, 1e-9, ''{optimal}''')) AS bad(arguments), error_of(format('SELECT dp_explain_rectangles(%s)', arguments)) AS e;
