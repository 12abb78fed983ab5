-- Range sums from a release of bins. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
SELECT r.* FROM dp_range_sums(dp_range_release('[0,10){0:1, 3:2, 7:5, 9:1}', 1e6, method => 'flat'),
    '{"[0,10)", "[3,8)", "[4,7)", "[3,3]", "[-5,4)", "[7,99)", "[20,30)", "(,5)", "[5,)", "(,)", empty}') AS r;
CREATE TABLE released AS SELECT dp_range_release('[-2,4){-1:3, 3:4}', 1e6, method => 'flat') AS r;
SELECT dp_range_sum(r, '[-2,0)'), dp_range_sum(r, '[0,10]'), dp_range_sum(r, 'empty') AS of_nothing, dp_range_sum(r, NULL) AS unknown FROM released;
SELECT u.* FROM released, dp_unnest(r) AS u;
SELECT count(*) AS no_ranges FROM released, dp_range_sums(r, '{}');
SELECT count(*) AS answers, min(sum) = max(sum) AS of_one_release
  FROM dp_range_sums(dp_range_release('[0,4){1:5}', 0.1), ARRAY[int8range(0, 4), int8range(0, 4)]);

-- as text, binary and jsonb
SELECT r::jsonb->'lo' AS lo, r::jsonb->'hi' AS hi, r::text::dp_ranges::text = r::text AS same FROM released;
-- byte for byte what PostgreSQL makes of the same text
SELECT method, record_image_eq(ROW(r::jsonb), ROW(r::text::jsonb)) AS same
  FROM unnest('{flat,tree,tree_consistent,quad,wavelet,gaussian,binary_tree,cascade,prefix,optimal,minimax}'::text[]) AS method,
       LATERAL (SELECT dp_range_release('[-500,500){-1:3000000, 3:4}', 0.5, 1e-6, method => method) AS r) AS x;
CREATE TABLE copied (LIKE released);
\copy released TO PROGRAM 'cat > /tmp/pg_dp_ranges.bin' (FORMAT binary)
\copy copied FROM PROGRAM 'cat /tmp/pg_dp_ranges.bin; rm /tmp/pg_dp_ranges.bin' (FORMAT binary)
SELECT c.r::text = s.r::text AS same FROM copied AS c, released AS s;
SELECT e.* FROM released, LATERAL (VALUES (r::text || 'x'), ('{}'), (''), ((r::jsonb || '{"hi": 9}')::text), ((r::jsonb || '{"hi": -9}')::text)) AS bad(input),
       error_of(format('SELECT %L::dp_ranges', input)) AS e;
SELECT * FROM error_of($$SELECT '[0,5){}'::bins::dp_ranges$$);
SELECT * FROM error_of($$SELECT dp_range_sum('[0,5){}'::bins, '[0,5)')$$);

-- a column of a private table; the answers are about the rows in the ranges, whatever lies around them
CREATE TABLE person (id int, age smallint, name text);
INSERT INTO person SELECT i, age, 'p' || i FROM unnest('{0,5,17,18,18,64,65,99,120,-3,NULL,NULL}'::int[]) WITH ORDINALITY AS p(age, i);
SELECT dp_create_dataset('people', 'person', '{id}', '{}', epsilon_budget => 1e9, delta_budget => 1e-6);
SELECT * FROM dp_range_sums('people', 'age', '{"[0,18)", "[18,65)", "[65,100)", "[5,6)", empty}', 1e6);
SELECT range, sum FROM dp_range_sums('people', 'age', '{"(,18)", "[18,)", "(,)", "[60,80)"}', 1e6);
-- with bounds, what is outside counts in the first or last bin
SELECT range, sum FROM dp_range_sums('people', 'age', '{"(,)", "[10,20)", "[60,70)", "[0,200)"}', 1e6, bounds => '[10,70)');
-- of bounds that no row of a range lies in a notice tells, before the charge
SET client_min_messages = notice;
SELECT range, sum FROM dp_range_sums('people', 'age', '{"[18,65)", "[2000,)", empty, "[6500,)", "(,1800)"}', 1e6, bounds => '[1800,6500)');
SELECT range, sum FROM dp_range_sums('people', 'age', '{"[6499,)", empty, "(,1801)"}', 1e6, bounds => '[1800,6500)');
-- once, where a publication has the charge quoted first
CALL dp_publish('outside', '[{"dataset": "people", "function": "dp_range_sums", "value_column": "age", "ranges": ["(,1800)", "(,1900)"], "bounds": "[1800,6500)", "epsilon": 1e6}]');
SET client_min_messages = warning;
-- where all lie outside, or are empty but for those, nothing is charged
CREATE TABLE spent AS SELECT epsilon_spent FROM dp_budget('people');
SELECT * FROM error_of($$SELECT dp_range_sums('people', 'age', '{"[18,65)", empty, "(,1800)"}', 1, bounds => '[1800,6500)')$$);
SELECT problem FROM dp_publish_check('none inside', '[{"dataset": "people", "function": "dp_range_sums", "value_column": "age", "ranges": ["(,1800)"], "bounds": "[1800,6500)", "epsilon": 1}]');
SELECT sum FROM dp_range_sums('people', 'age', '{empty}', 1, bounds => '[1800,6500)');
SELECT b.epsilon_spent - s.epsilon_spent AS charged FROM dp_budget('people') AS b, spent AS s;
-- all rows with an age, whatever it is, with any bounds
SELECT sum FROM dp_range_sums('people', 'age', '{"(,)"}', 1e6, bounds => '[1000,1001)');
SELECT range, sum FROM dp_range_sums('people', 'id', '{"[1,6)"}', epsilon => 1e6);
CREATE TABLE nobody (id int, age bigint);
SELECT dp_create_dataset('nobody', 'nobody', '{id}', '{}', epsilon_budget => 1e9);
SELECT range, sum FROM dp_range_sums('nobody', 'age', '{"[0,6)"}', 1e6);
CREATE TABLE extreme AS SELECT * FROM (VALUES (1, 9223372036854775807), (2, -9223372036854775808), (3, NULL)) AS v(id, age);
SELECT dp_create_dataset('extreme', 'extreme', '{id}', '{}', epsilon_budget => 1e9);
SELECT range, sum FROM dp_range_sums('extreme', 'age', '{"[9223372036854775800,9223372036854775807)", "[9223372036854775806,)"}', 1e6);
SELECT range, sum FROM dp_range_sums('extreme', 'age', '{"(,-9223372036854775807)", "[-9223372036854775808,0)"}', 1e6, bounds => '[-9223372036854775808,-9223372036854775800)');

-- charges: a release of bins, of a column
SELECT dp_create_dataset('charged', 'person', '{id}', '{}', epsilon_budget => 1);
SELECT count(*) FROM dp_range_sums('charged', 'age', '{"[0,18)"}', 0.25);
CREATE TABLE by_hand AS SELECT dp_range_release('[0,10){}', 0.5, dataset => 'charged') AS r;
SELECT function, epsilon, delta, parameters->>'bounds' AS bounds, parameters->>'value_column' AS value_column
  FROM dp.ledger WHERE dataset = 'charged' ORDER BY id;
SELECT * FROM error_of($$SELECT dp_range_sums('charged', 'age', '{"[0,18)"}', 0.5)$$);
SELECT * FROM error_of($$SELECT dp_range_release('[0,10){}', 0.5, dataset => 'charged')$$);
BEGIN;
SELECT count(*) FROM dp_range_sums('charged', 'age', '{"[0,18)"}', 0.125);
ROLLBACK;
SELECT epsilon_spent, releases FROM dp_budget('charged');

-- an analyst without a right on the table
CREATE ROLE dp_test_analyst;
SELECT dp_grant('charged', 'dp_test_analyst', 0.1, require_name => false);
SET ROLE dp_test_analyst;
SELECT * FROM error_of('SELECT age FROM person');
SELECT count(*) FROM dp_range_sums('charged', 'age', '{"[0,18)"}', 0.0625);
SELECT * FROM error_of($$SELECT dp_range_sums('charged', 'age', '{"[0,18)"}', 0.0625)$$);
SELECT * FROM error_of($$SELECT dp_range_sums('people', 'age', '{"[0,18)"}', 1)$$);
RESET ROLE;

-- people with several rows: of ann's 100 visits 2 count, the noise is that of 2 rows
CREATE TABLE visit (clinic int, who text, hour int);
INSERT INTO visit SELECT 1, 'ann', 9 FROM generate_series(1, 100);
INSERT INTO visit VALUES (1, 'bob', 10), (1, NULL, 10), (2, 'cy', NULL);
CREATE TABLE clinic AS SELECT 1 AS clinic;
SELECT dp_create_dataset('visits', 'visit', '{clinic}', '{}', 'clinic', epsilon_budget => 1e9, privacy_unit => 'who', max_rows_per_unit => 2);
SELECT range, sum FROM dp_range_sums('visits', 'hour', '{"[8,10)", "[10,12)"}', 1e6);
SELECT round(one.stddev) AS one_row, round(two.stddev) AS two_rows
  FROM dp_range_sums('people', 'age', '{"[9,10)"}', 0.01, method => 'flat') AS one,
       dp_range_sums('visits', 'hour', '{"[9,10)"}', 0.01, method => 'flat') AS two;
SELECT * FROM error_of($$SELECT dp_range_release('[0,24){}', 1, dataset => 'visits')$$);
SELECT dp_create_dataset('sized', 'person', '{id}', '{}', size_column => 'age', epsilon_budget => 1);
SELECT * FROM error_of($$SELECT dp_range_sums('sized', 'id', '{"[0,18)"}', 0.5)$$);
SELECT * FROM error_of($$SELECT dp_range_release('[0,24){}', 0.5, dataset => 'sized')$$);

-- arguments that are refused; nothing is spent
SELECT e.* FROM (VALUES ('NULL, 1'), ('''[0,9){}'', NULL'), ('''[0,9){}'', 0'), ('''[0,9){}'', -1'), ('''[0,9){}'', ''NaN'''),
    ('''[0,9){}'', 1e-12'), ('''[0,9){}'', 1, -1'), ('''[0,9){}'', 1, 1'), ('''[0,9){}'', 1, ''NaN'''), ('''[0,9){}'', 1, NULL'),
    ('''[0,9){}'', 1, method => ''fat'''), ('''[0,9){}'', 1, method => NULL'), ('''[0,9){}'', 1, dataset => ''nowhere'''))
    AS bad(arguments), error_of(format('SELECT dp_range_release(%s)', arguments)) AS e;
SELECT e.* FROM (VALUES ('NULL, ''age'', ''{"[0,9)"}'', 1'), ('''charged'', NULL, ''{"[0,9)"}'', 1'), ('''charged'', ''age'', NULL, 1'),
    ('''charged'', ''age'', ''{}'', 1'), ('''charged'', ''age'', ''{NULL}'', 1'), ('''charged'', ''age'', ''{"(,)", empty}'', 1'),
    ('''charged'', ''age'', ''{"[0,9)"}'', 0'), ('''charged'', ''age'', ''{"[0,9)"}'', 1, 1.5'), ('''charged'', ''age'', ''{"[0,9)"}'', 1, method => ''?'''),
    ('''charged'', ''Age'', ''{"[0,9)"}'', 1'), ('''charged'', ''name'', ''{"[0,9)"}'', 1'), ('''charged'', ''ctid'', ''{"[0,9)"}'', 1'),
    ('''charged'', ''age'', ''{"[0,9)"}'', 1, bounds => ''[0,)'''), ('''charged'', ''age'', ''{"[0,9)"}'', 1, bounds => ''empty'''),
    ('''charged'', ''age'', ''{"[0,9)"}'', 1, bounds => ''[0,16777217)'''), ('''charged'', ''age'', ''{"[0,1)", "[99999999,100000000)"}'', 1'))
    AS bad(arguments), error_of(format('SELECT dp_range_sums(%s)', arguments)) AS e;
SELECT * FROM error_of('SELECT dp_range_sums(NULL::dp_ranges, ''{}'')') UNION ALL
SELECT e.* FROM released, error_of(format('SELECT dp_range_sums(%L::dp_ranges, ''{NULL}'')', r)) AS e;
SELECT epsilon_spent, releases FROM dp_budget('charged');

-- columns of a domain are what it is over; its constraint is not checked when they are read
CREATE FUNCTION is_fine(anyelement) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'checked %', $1; END $$;
CREATE DOMAIN whole AS int;
CREATE DOMAIN years AS whole;
CREATE DOMAIN money_paid AS numeric(8, 2);
CREATE DOMAIN calendar_day AS date;
CREATE TABLE kept (id int, age years, paid money_paid, day calendar_day, household years);
INSERT INTO kept SELECT i, i % 50, i / 4.0, date '2026-01-01' + i % 31, i % 3 FROM generate_series(1, 200) AS i;
CREATE TABLE kept_size AS SELECT i AS id, (i * 2)::years AS members FROM generate_series(1, 3) AS i;
ALTER DOMAIN whole ADD CHECK (is_fine(VALUE)) NOT VALID;
ALTER DOMAIN money_paid ADD CHECK (is_fine(VALUE)) NOT VALID;
ALTER DOMAIN calendar_day ADD CHECK (is_fine(VALUE)) NOT VALID;
SELECT dp_create_dataset('kept', 'kept', '{id}', '{}', epsilon_budget => 1e9, period_column => 'day');
SELECT sum, (SELECT count(*) FROM kept WHERE age < 20) AS truth FROM dp_range_sums('kept', 'age', '{"[0,20)"}', 1e6);
SELECT sum, (SELECT sum(paid) FROM kept WHERE day < '2026-01-11') AS truth
  FROM dp_range_sums('kept', 'day', '{"[2026-01-01,2026-01-11)"}'::daterange[], '1 day', 1e6, amount => 'paid', max_amount => 100, amount_unit => 0.01);
SELECT sum, (SELECT sum(age) FROM kept WHERE age < 20) AS truth FROM dp_range_sums('kept', 'age', '{"[0,20)"}', 1e6, amount => 'age', max_amount => 100);
SELECT sum, (SELECT count(*) FROM kept WHERE age < 20 AND household = 1) AS truth FROM dp_rectangle_sums('kept', 'age', 'household', '{"[0,20)"}', '{"[1,2)"}', 1e6);
SELECT sum, (SELECT count(*) FROM kept WHERE age < 20 AND day < '2026-01-11') AS truth FROM dp_range_sums('kept', 'age', '{"[0,20)"}', 1e6, period => '[2026-01-01,2026-01-11)');
CALL dp_publish('kept', '[{"dataset": "kept", "function": "dp_range_sums", "value_column": "age", "ranges": ["[0,20)"], "epsilon": 1e6}]');
SELECT sum FROM dp.range_rows WHERE release = 'kept';
SELECT dp_create_dataset('kept sizes', 'kept_size', '{id}', '{}', size_column => 'members', epsilon_budget => 1e9);
SELECT size, groups FROM dp_hierarchy_release('kept sizes', 1e6);
CREATE DOMAIN sizes AS coco;
CREATE DOMAIN counts AS bins;
CREATE TABLE kept_sizes AS SELECT 'Ohio' AS state, coco_agg(members::int)::sizes AS h FROM kept_size;
CREATE TABLE kept_bins AS SELECT bins_agg(age::bigint, 0, 50)::counts AS b FROM kept;
ALTER DOMAIN sizes ADD CHECK (is_fine(VALUE)) NOT VALID;
ALTER DOMAIN counts ADD CHECK (is_fine(VALUE)) NOT VALID;
SELECT dp_create_dataset('kept coco', 'kept_sizes', '{}', '{state}', size_column => 'h', epsilon_budget => 1e9);
SELECT path, size, groups FROM dp_hierarchy_release('kept coco', 1e6) WHERE groups > 0;
SELECT dp_create_dataset('kept bins', 'kept_bins', '{}', '{}', size_column => 'b', epsilon_budget => 1e9);
SELECT s.sum FROM dp_region_range_release('kept bins', 'b', '[0,50)', 1e6) AS r, dp_range_sums(r.ranges, '{"[0,20)"}') AS s;
SELECT dp_stream_create('kept', 'daily', 'day', date '2026-01-01', '1 day', 3, 1e6);
SELECT tick, count, (SELECT count(*) FROM kept WHERE day = date '2026-01-01' + tick::int) AS truth FROM dp_stream_tick('kept', 'daily');
