-- What answers are made of. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning;
CREATE TABLE released AS SELECT method, dp_range_release('[-3,9){-2:100, 0:300, 1:200, 5:400, 8:7}', 1e6, method => method) AS r
  FROM unnest('{auto,flat,tree:3,tree_consistent,wavelet}'::text[]) AS method;
SELECT method, string_agg(round(sum)::text, ' ' ORDER BY n) AS sums, max(stddev) AS stddev
  FROM released, ROWS FROM (dp_range_sums(r, '{"[-3,9)", "[0,2)", "[1,1]", "(,0)", "[20,30)", empty}', 'adaptive')) WITH ORDINALITY AS s (range, sum, stddev, n)
 WHERE method <> 'tree:3' GROUP BY method ORDER BY method;
SELECT string_agg(round(value)::text, ' ' ORDER BY bin) AS bins FROM released, dp_unnest(r, 'adaptive') WHERE method = 'auto';
SELECT count(*) AS none FROM released, dp_range_sums(r, '{}', 'adaptive') WHERE method = 'flat';

-- never less certain than the noise alone, and so named or not
CREATE TABLE noisy AS SELECT method, delta, dp_range_release((SELECT bins_agg(i * i % 97, 0, 100) FROM generate_series(1, 500) AS i), 0.2, delta, method => method) AS r
  FROM (VALUES ('auto', 0), ('wavelet', 0), ('flat', 0), ('gaussian', 1e-6), ('cascade', 1e-6), ('prefix', 1e-6), ('optimal', 1e-6), ('minimax', 1e-6)) AS m (method, delta);
SELECT method, bool_and(a.stddev BETWEEN 0 AND u.stddev) AS not_less_certain, bool_or(a.stddev < u.stddev) AS more_certain, bool_or(a.sum <> u.sum) AS other
  FROM noisy, unnest(ARRAY(SELECT int8range(i, j) FROM generate_series(0, 90, 15) AS i, generate_series(i + 1, 100, 8) AS j)) AS asked,
       dp_range_sums(r, ARRAY[asked]) AS u, dp_range_sums(r, ARRAY[asked], estimate => 'adaptive') AS a GROUP BY method ORDER BY method;
SELECT method, count(*) AS bins, bool_and(u = s AND b.stddev BETWEEN 0 AND s.stddev) AS the_same
  FROM noisy, dp_unnest(r) AS u (bin, value, stddev), dp_unnest(r, 'unbiased') AS s (bin, value, stddev), dp_unnest(r, 'adaptive') AS b (bin, value, stddev)
 WHERE s.bin = u.bin AND b.bin = u.bin GROUP BY method ORDER BY method;
SELECT bool_and(abs(a.sum - (SELECT sum(value) FROM dp_unnest(r, 'adaptive') WHERE bin < 40)) < 1e-6) AS sums_are_of_bins FROM noisy, dp_range_sums(r, '{"[0,40)"}', 'adaptive') AS a;

-- of a column, in all of its types
CREATE TABLE visit (id int, age int, day date, at timestamp, at_tz timestamptz, paid numeric);
INSERT INTO visit SELECT i, i % 50, date '2026-01-01' + i % 50, timestamp '2026-01-01' + i % 50 * interval '1 hour', timestamptz '2026-01-01 00:00+00' + i % 50 * interval '1 hour', i % 5 FROM generate_series(1, 500) AS i;
SELECT dp_create_dataset('visits', 'visit', '{id}', '{}', epsilon_budget => 1e9);
SELECT string_agg(round(sum)::text, ' ') AS sums FROM (
    SELECT sum FROM dp_range_sums('visits', 'age', '{"[0,10)", "[40,)"}'::int8range[], 1e6, estimate => 'adaptive') UNION ALL
    SELECT sum FROM dp_range_sums('visits', 'day', '{"[2026-01-01,2026-01-11)"}'::daterange[], '1 day', 1e6, estimate => 'adaptive') UNION ALL
    SELECT sum FROM dp_range_sums('visits', 'at', '{"[2026-01-01,2026-01-01 10:00)"}'::tsrange[], '1 hour', 1e6, estimate => 'adaptive') UNION ALL
    SELECT sum FROM dp_range_sums('visits', 'at_tz', '{"[2026-01-01 00:00+00,2026-01-01 10:00+00)"}'::tstzrange[], '1 hour', 1e6, estimate => 'adaptive') UNION ALL
    SELECT sum FROM dp_range_sums('visits', 'age', '{"[0,10)"}'::int8range[], 1e6, amount => 'paid', max_amount => 3, amount_unit => 0.5, estimate => 'adaptive')) AS s;
-- it costs what the other does; under a name it is asked for with its estimate
SELECT dp_create_dataset('named', 'visit', '{id}', '{}', epsilon_budget => 1);
CREATE TABLE first AS SELECT * FROM dp_range_sums('named', 'age', '{"[0,10)", "[20,30)"}', 0.5, name => 'ages', estimate => 'adaptive');
SELECT bool_and(f = s) AS the_same FROM first AS f, dp_range_sums('named', 'age', '{"[0,10)", "[20,30)"}', 0.5, name => 'ages', estimate => 'adaptive') AS s WHERE s.range = f.range;
SELECT epsilon_spent, releases FROM dp_budget('named');
SELECT parameters ->> 'estimate' AS estimate FROM dp.releases WHERE dataset = 'named';
SELECT estimate, e.* FROM unnest('{unbiased,adaptive}'::text[]) AS estimate,
       error_of(format('SELECT dp_range_sums(''named'', ''age'', ''{"[0,10)"}'', 0.5, name => ''ages'', estimate => %L)', estimate)) AS e;

SELECT bad, e.* FROM unnest(ARRAY[$$'smooth'$$, $$''$$, 'NULL']) AS bad,
       error_of(format($$SELECT dp_range_sums('named', 'age', '{"[0,10)"}', 0.25, estimate => %s)$$, bad)) AS e;
SELECT e.* FROM unnest('{"''tree:2'', estimate => ''adaptive''","''auto'', amount => ''paid'', max_amount => 3, min_amount => -3, amount_unit => 1, estimate => ''adaptive''"}'::text[]) AS bad,
       error_of(format($$SELECT dp_range_sums('named', 'age', '{"[0,10)", "[20,30)", "[5,25)", "[2,29)"}', 0.25, method => %s)$$, bad)) AS e;
SELECT e.* FROM released, error_of(format($$SELECT dp_range_sums(%L::dp_ranges, '{}', 'adaptive')$$, r)) AS e WHERE method = 'tree:3';
SELECT e.* FROM released, error_of(format($$SELECT dp_unnest(%L::dp_ranges, %L)$$, r, 'none')) AS e WHERE method = 'auto';
SELECT count(*) AS of_null FROM dp_unnest(NULL::dp_ranges, 'adaptive');
CREATE TABLE wide AS SELECT dp_range_release('[0,1048577){}', 1, method => 'flat') AS r;
SELECT * FROM error_of($$SELECT r.* FROM wide, dp_range_sums(r, '{"[0,9)"}', 'adaptive') AS r$$);
-- not so many at once that they would take long after the charge
SELECT e.* FROM error_of($$SELECT dp_range_sums('named', 'age', ARRAY(SELECT int8range(i, i + 1) FROM generate_series(1, 2048) AS i), 0.25, method => 'flat', estimate => 'adaptive')$$) AS e;
-- a forged one
SELECT e.* FROM released, error_of(format($$SELECT dp_unnest(%L::dp_ranges, 'adaptive')$$, jsonb_set(r::jsonb, '{values}', '[0,1.7e308,-1.7e308,1.7e308,-1.7e308,0,0,0,0,0,0,0,0]'))) AS e WHERE method = 'flat';
SELECT epsilon_spent, releases FROM dp_budget('named');
