-- Sums of amounts in ranges. The noise of epsilon = 1e6 is 0 where the largest amount is small, and little elsewhere.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE payment (id int, who text, age smallint, day date, at timestamp, at_tz timestamptz, points smallint, cents int, big bigint, paid numeric, sized numeric(9,2), rate float8, days interval);
INSERT INTO payment
SELECT i, 'p' || i % 3, i * 10, date '2026-01-01' + i, timestamp '2026-01-01 00:30' + i * interval '1 hour', timestamptz '2026-01-01 00:30+00' + i * interval '1 hour',
       i, i * 100, i, i + 0.25, i / 4.0, i, '1 day' FROM generate_series(0, 9) AS i;
SELECT dp_create_dataset('payments', 'payment', '{id}', '{}', epsilon_budget => 1e12, delta_budget => 1e-3);

-- integers of every width, numeric with and without a scale: 0 .. 9, 0 .. 900, 0.25 .. 9.25
SELECT amount, m.range, m.sum FROM unnest('{points,cents,big,paid,sized}'::text[]) AS amount,
       dp_range_sums('payments', 'age', '{"[0,50)", "[50,100)", "(,)", "[200,)"}', 1e8, amount => amount, max_amount => 1000, amount_unit => 1) AS m;
-- clamped at 4, from 2 on, and what is below 0
SELECT sum FROM dp_range_sums('payments', 'age', '{"[0,50)", "[50,100)"}', 1e5, amount => 'points', max_amount => 4);
SELECT sum FROM dp_range_sums('payments', 'age', '{"[0,50)", "[50,100)"}', 1e5, amount => 'points', max_amount => 4, min_amount => 2);
-- to whole units, halves away from 0: 0.25 + 1.25 + ... in quarters, tenths and units of 5
SELECT unit, sum FROM unnest('{0.25,0.1,0.50,1,5}'::numeric[]) AS unit,
       dp_range_sums('payments', 'age', '{"[0,100)"}', 1e5, amount => 'paid', max_amount => 10, amount_unit => unit);
-- bounds with decimals: 0.25 + 9 x 0.5
SELECT least, sum FROM unnest('{0.25,0.001}'::numeric[]) AS unit, unnest('{0,-0.25}'::numeric[]) AS least,
       dp_range_sums('payments', 'age', '{"[0,100)"}', 1e6, amount => 'paid', max_amount => 0.5, min_amount => least, amount_unit => unit);
-- times
SELECT range, sum FROM dp_range_sums('payments', 'day', '{"[2026-01-01,2026-01-04)", "[2026-01-04,2026-01-20)"}'::daterange[], '1 day', 1e6, amount => 'points', max_amount => 9);
SELECT range, sum FROM dp_range_sums('payments', 'at', '{"[2026-01-01,2026-01-01 03:00)"}'::tsrange[], '1 hour', 1e6, amount => 'points', max_amount => 9);
SELECT sum FROM dp_range_sums('payments', 'at_tz', '{"[2026-01-01 00:00+00,2026-01-01 03:00+00)"}'::tstzrange[], '1 hour', 1e6, amount => 'points', max_amount => 9);
-- the value itself as the amount
SELECT sum FROM dp_range_sums('payments', 'age', '{"[0,100)"}', 1e8, amount => 'age', max_amount => 100);

-- what numerics can be, next to what they are taken for; rows without a value or an amount add nothing
CREATE TABLE numbers (n int, x numeric);
INSERT INTO numbers SELECT n, x::numeric FROM unnest('{0,-0.0,0.5,-0.5,0.49999999999999999999999999999999,1.5,2.5,-2.5,7,-7,99.99,1234567,-1234567,10000,100000000,1e30,-1e30,1e-30,1e131071,NaN,Infinity,-Infinity,NULL,9999.5,0.00005,12345678.9}'::text[])
    WITH ORDINALITY AS v(x, n);
INSERT INTO numbers SELECT 27, (repeat('9', 20000) || '.' || repeat('9', 10000))::numeric;
INSERT INTO numbers SELECT 28, ('0.' || repeat('4', 16000))::numeric;
INSERT INTO numbers VALUES (NULL, 1000);
SELECT dp_create_dataset('numbers', 'numbers', '{n}', '{}', epsilon_budget => 1e20);
SELECT count(*) AS compared, bool_and(a.sum IS NOT DISTINCT FROM w.wanted) AS as_numeric_has_it
  FROM (SELECT array_agg(int8range(n, n + 1)) AS each FROM generate_series(1, 28) AS n) AS r,
       (VALUES (0, 10000, 1), (-7, 10000, 1), (-10000, 0, 1), (-100, 5000, 0.5), (0, 10000, 100), (-3000, 3000, 0.01)) AS b (least, most, unit),
       dp_range_sums('numbers', 'n', each, 5e7, method => 'flat', amount => 'x', min_amount => least, max_amount => most, amount_unit => unit) AS a,
       LATERAL (SELECT coalesce((SELECT CASE WHEN x <> 'NaN'
                                             THEN round(greatest(least(x, most), b.least) / unit) * unit END
                                   FROM numbers WHERE n = lower(a.range)), 0)::float8 AS wanted) AS w;

-- a row's largest amount is what the noise hides; so are all amounts of a unit
SELECT round(one.stddev) AS one, round(seven.stddev) AS seven, round(less.stddev) AS down_to_minus_9, round(units.stddev) AS in_units, round(gaussian.stddev / row.stddev) AS gaussian
  FROM dp_range_sums('payments', 'age', '{"[9,10)"}', 0.01, method => 'flat') AS one,
       dp_range_sums('payments', 'age', '{"[9,10)"}', 0.01, method => 'flat', amount => 'points', max_amount => 7) AS seven,
       dp_range_sums('payments', 'age', '{"[9,10)"}', 0.01, method => 'flat', amount => 'points', max_amount => 7, min_amount => -9) AS less,
       dp_range_sums('payments', 'age', '{"[9,10)"}', 0.01, method => 'flat', amount => 'points', max_amount => 700, amount_unit => 100) AS units,
       dp_range_sums('payments', 'age', '{"[9,10)"}', 1, 1e-6, method => 'gaussian', amount => 'points', max_amount => 7) AS gaussian,
       dp_range_sums('payments', 'age', '{"[9,10)"}', 1, 1e-6, method => 'gaussian') AS row;
CREATE TABLE payment_id AS SELECT id FROM payment;
SELECT dp_create_dataset('payers', 'payment', '{id}', '{}', 'payment_id', epsilon_budget => 1e12, privacy_unit => 'who', max_rows_per_unit => 4);
SELECT range, sum FROM dp_range_sums('payers', 'age', '{"[0,50)", "[50,100)"}', 1e6, amount => 'paid', max_amount => 9, amount_unit => 0.25);
SELECT round(stddev) AS four_rows FROM dp_range_sums('payers', 'age', '{"[9,10)"}', 0.01, method => 'flat', amount => 'points', max_amount => 7);
SELECT range, sum FROM dp_range_sums('payers', 'age', '{"[0,50)", "[50,100)"}', 1e8, amount => 'age', max_amount => 100);

-- under a name: what is stored is in the column's terms; other amounts are another release
SELECT range, sum FROM dp_range_sums('payments', 'age', '{"[0,50)", "[50,100)"}', 1e9, amount => 'paid', max_amount => 10, amount_unit => 0.01, name => 'paid by age');
SELECT range, sum FROM dp_range_sums('payments', 'age', '{"[0,50)", "[50,100)"}', 1e9, amount => 'paid', max_amount => 10, amount_unit => 0.010, name => 'paid by age');
SELECT lower_bound, upper_bound, sum FROM dp.range_rows WHERE release = 'paid by age' ORDER BY lower_bound;
SELECT e.message FROM unnest('{"amount => ''sized'', max_amount => 10, amount_unit => 0.01","amount => ''paid'', max_amount => 20, amount_unit => 0.01",
    "amount => ''paid'', max_amount => 10, amount_unit => 0.02","amount => ''paid'', max_amount => 10, min_amount => -1, amount_unit => 0.01","max_amount => NULL"}'::text[]) AS other,
    error_of(format($$SELECT dp_range_sums('payments', 'age', '{"[0,50)", "[50,100)"}', 1e9, name => 'paid by age', %s)$$, other)) AS e;
SELECT parameters -> 'amount' AS amount, parameters -> 'min_amount' AS min, parameters -> 'max_amount' AS max, parameters -> 'amount_unit' AS unit,
       parameters #> '{measurements,0,sensitivity}' AS sensitivity
  FROM dp.ledger WHERE parameters ->> 'amount' = 'paid' AND parameters ->> 'amount_unit' = '0.01';
SELECT dp.releases.parameters ->> 'max_amount' AS max FROM dp.releases WHERE name = 'paid by age';
CALL dp_publish('both', '[{"dataset": "payments", "function": "dp_range_sums", "value_column": "age", "ranges": ["[0,50)"], "epsilon": 1e5, "amount": "paid", "max_amount": 10, "amount_unit": 0.25, "name": "published"},
    {"dataset": "payments", "function": "dp_range_sums", "value_column": "day", "ranges": ["[2026-01-01,2026-01-04)"], "bin_width": "1 day", "epsilon": 1e5, "amount": "points", "min_amount": -5, "max_amount": 1, "name": "published days"}]');
SELECT release, sum FROM dp.range_rows WHERE release LIKE 'published%' ORDER BY release;

-- arguments that are refused; nothing is spent
SELECT dp_create_dataset('charged', 'payment', '{id}', '{}', epsilon_budget => 1, delta_budget => 1e-6);
CREATE DOMAIN dollars AS numeric;
CREATE TABLE priced (id int, price dollars, doubled int GENERATED ALWAYS AS (id * 2) STORED);
SELECT dp_create_dataset('priced', 'priced', '{id}', '{}', epsilon_budget => 1);
SELECT bad.arguments, e.* FROM (VALUES ('amount => ''paid'''), ('amount => ''paid'', max_amount => 0'), ('amount => ''paid'', max_amount => -1'),
    ('amount => ''paid'', max_amount => 1, min_amount => 2'), ('amount => ''paid'', max_amount => 5, min_amount => NULL'),
    ('amount => ''paid'', max_amount => 5, amount_unit => NULL'), ('amount => ''paid'', max_amount => 5, amount_unit => 0'),
    ('amount => ''paid'', max_amount => 5, amount_unit => -1'), ('amount => ''paid'', max_amount => 5, amount_unit => ''NaN'''),
    ('amount => ''paid'', max_amount => 5, amount_unit => ''Infinity'''), ('amount => ''paid'', max_amount => 5, amount_unit => 1e-13'),
    ('amount => ''paid'', max_amount => 5, amount_unit => 1e999'),
    ('amount => ''paid'', max_amount => 5, amount_unit => 2'), ('amount => ''paid'', max_amount => 4, min_amount => -1, amount_unit => 2'),
    ('amount => ''paid'', max_amount => 9223372036854775807'), ('amount => ''paid'', max_amount => 4000000000'),
    ('amount => ''paid'', max_amount => 100000000000000000, amount_unit => 0.01'), ('amount => ''paid'', max_amount => 5, min_amount => -100000000000000000, amount_unit => 0.01'), ('amount => ''paid'', max_amount => 5, amount_unit => 0.000000001'),
    ('max_amount => 5'), ('min_amount => 1'), ('amount_unit => 0.5'),
    ('amount => ''rate'', max_amount => 5'), ('amount => ''who'', max_amount => 5'), ('amount => ''days'', max_amount => 5'),
    ('amount => ''nothing'', max_amount => 5'), ('amount => ''ctid'', max_amount => 5'), ('amount => ''paid" + 1 --'', max_amount => 5'))
    AS bad(arguments), error_of(format($$SELECT dp_range_sums('charged', 'age', '{"[0,9)"}', 1, %s)$$, arguments)) AS e;
SELECT * FROM error_of($$SELECT dp_range_sums('payments', 'paid', '{"[0,9)"}', 1)$$);
SELECT * FROM error_of($$SELECT dp_range_sums('priced', 'id', '{"[0,9)"}', 1, amount => 'price', max_amount => 5)$$);
SELECT sum FROM dp_range_sums('payments', 'id', '{"[0,9)"}', 1e5, amount => 'id', max_amount => 5);
SELECT epsilon_spent, releases FROM dp_budget('charged');
