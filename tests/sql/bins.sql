-- bins: text, binary and jsonb forms.
SELECT '[0,100){17:2, 42:5}'::bins, ' [ -3, 4 ) { 3:1,-3 : 2, 3:1, 0:0 } '::bins AS any_order, '[5,6){}'::bins;
SELECT '[0,100){17:2, 5:5}'::bins::jsonb;
CREATE TABLE stored (b bins);
INSERT INTO stored SELECT bins_agg(s * s, 0, 1000000) FROM generate_series(1, 5000) AS s;
INSERT INTO stored VALUES (NULL), ('[-3,4){-3:5, 3:1}'), ('[0,16777216){}'), ('[9223372036854775806,9223372036854775807){9223372036854775806:9223372036854775807}');
-- byte for byte what PostgreSQL makes of the same text
SELECT count(*) AS rows, count(*) FILTER (WHERE record_image_eq(ROW(b::jsonb), ROW((b::jsonb)::text::jsonb))) AS same,
       count(*) FILTER (WHERE b::jsonb->'counts' = regexp_replace(substring(b::text, '{.*'), '(-?\d+):', '"\1":', 'g')::jsonb) AS right
  FROM stored;
CREATE TABLE copied (LIKE stored);
\copy stored TO PROGRAM 'cat > /tmp/pg_dp_bins.bin' (FORMAT binary)
\copy copied FROM PROGRAM 'cat /tmp/pg_dp_bins.bin; rm /tmp/pg_dp_bins.bin' (FORMAT binary)
SELECT count(*) AS rows, count(*) FILTER (WHERE s.b::text = c.b::text) AS equal
  FROM stored AS s JOIN copied AS c ON s.b::text IS NOT DISTINCT FROM c.b::text;
SELECT e.* FROM (VALUES (''), ('{1:2}'), ('[0,10){1}'), ('[0,10){10:1}'), ('[0,10){1:-1}'), ('[0,10){1:9223372036854775807, 2:1}'),
                        ('[10,10){}'), ('[0,x){}'), ('[0,16777217){}')) AS bad(input),
       error_of(format('SELECT %L::bins', input)) AS e;

-- bins_agg: what is outside counts in the nearest bin, NULL nowhere; without rows there are no bounds
SELECT bins_agg(b, 0, 10) FROM (VALUES (3), (3), (0), (9), (10), (-1), (9223372036854775807), (NULL)) AS v(b);
SELECT bins_agg(b, -5, 5) AS all_null FROM (VALUES (NULL::bigint)) AS v(b);
SELECT bins_agg(b, 0, 10) AS no_rows, bins_agg('[0,1){}'::bins) FILTER (WHERE false) AS no_values FROM (VALUES (1)) AS v(b) WHERE b < 0;
SELECT bins_agg(b) FROM (VALUES ('[0,5){1:2}'::bins), (NULL), ('[0,5){1:1, 4:4}')) AS v(b);
SELECT b % 2 AS odd, bins_agg(b, 0, 10) FROM generate_series(1, 6) AS b GROUP BY 1 ORDER BY 1;
SELECT b, bins_agg(b, 0, 5) OVER (ORDER BY b) FROM generate_series(1, 3) AS b; -- exact: a window is fine
SELECT bins_agg(b) AS saturated FROM (VALUES ('[0,5){1:9223372036854775800}'::bins), ('[0,5){2:100}')) AS v(b);
SELECT bins_add('[0,5){1:1}', 1, 0, 5), bins_merge('[0,5){1:1}', '[0,5){2:2}'); -- outside of any aggregation
SELECT e.* FROM (VALUES ('1, 10, 10'), ('1, 10, -10'), ('1, NULL, 10'), ('1, 0, NULL'), ('1, 0, 16777217'),
                        ('1, -9223372036854775808, 9223372036854775807'), ('1, 0, 10 + s')) AS bad(arguments),
       error_of(format('SELECT bins_agg(%s) FROM generate_series(1, 2) AS s', arguments)) AS e;
SELECT * FROM error_of($$SELECT bins_agg(b) FROM (VALUES ('[0,5){}'::bins), ('[0,6){}')) AS v(b)$$);
-- 2^24 bins are fine, but not in any number of groups at once; the memory is given back
SELECT length(bins_agg(s, 0, 16777216)::text) FROM generate_series(1, 3) AS s;
SELECT * FROM error_of($$SELECT s, bins_agg(s, 0, 16777216) FROM generate_series(1, 30) AS s GROUP BY s$$);
SELECT bins_agg(s, 0, 16777216) FROM generate_series(1, 3) AS s;

-- a large table is aggregated in parallel, and the parts add up
CREATE TABLE large AS SELECT (i * 7919) % 1000 AS v, i % 5 AS day FROM generate_series(1, 500000::bigint) AS i;
ANALYZE large;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
EXPLAIN (COSTS OFF) SELECT bins_agg(v, 0, 900) FROM large;
CREATE TABLE parts AS SELECT day, bins_agg(v, 0, 900) AS b FROM large GROUP BY day;
CREATE TABLE whole AS SELECT bins_agg(v, 0, 900) AS b FROM large;
SET max_parallel_workers_per_gather = 0;
SELECT w.b::text = (SELECT bins_agg(v, 0, 900)::text FROM large) AS whole_agrees,
       w.b::text = (SELECT bins_agg(b)::text FROM parts) AS parts_agree,
       w.b::text = (SELECT bins_agg(v, 0, 900 ORDER BY v)::text FROM large) AS sorted_agrees
  FROM whole AS w;
SELECT sum(value::bigint) AS rows, max(value::bigint) AS in_the_last_bin FROM whole, jsonb_each_text(b::jsonb->'counts');
SET work_mem = '64kB';
SELECT count(*) AS groups, sum(jsonb_array_length(jsonb_path_query_array(b::jsonb->'counts', '$.keyvalue()'))) AS filled
  FROM (SELECT v, bins_agg(day, 0, 5) AS b FROM large GROUP BY v) AS x;
RESET work_mem;

-- sums of amounts carry the largest one; what is beyond counts as that, what is negative as nothing
SELECT bins_agg(b, 0, 10, a, 50) FROM (VALUES (3, 7), (3, 60), (0, 50), (99, 1), (-1, -5), (4, NULL), (NULL, 9), (5, 9223372036854775807)) AS v(b, a);
SELECT bins_agg(b), bins_agg(b)::jsonb AS json FROM (VALUES ('[0,5)<=50{1:70}'::bins), (' [0,5) <= 50 {1:1, 4:4}')) AS v(b);
SELECT bins_agg(b, 0, 5, a, 1)::text = (bins_agg(b, 0, 5) FILTER (WHERE a > 0))::text AS amounts_of_one_are_counts FROM (SELECT b % 7 AS b, b % 2 AS a FROM generate_series(1, 40) AS b) AS v;
CREATE TABLE amounts AS SELECT '[0,5)<=50{1:70}'::bins AS b;
SELECT b FROM amounts;
SELECT e.* FROM (VALUES ('1, 0, 9, 1, 0'), ('1, 0, 9, 1, -5'), ('1, 0, 9, 1, NULL'), ('1, 0, 9, 1, 4294967296'), ('1, 0, 9, 1, s'), ('1, 0, 9 + s, 1, 5'), ('1, NULL, 9, 1, 5')) AS bad(arguments),
       error_of(format('SELECT bins_agg(%s) FROM generate_series(1, 2) AS s', arguments)) AS e;
SELECT e.* FROM (VALUES ('[0,5)<=0{}'), ('[0,5)<=4294967296{}'), ('[0,5)<=x{}'), ('[0,5)50{}')) AS bad(input), error_of(format('SELECT %L::bins', input)) AS e;
SELECT * FROM error_of($$SELECT bins_agg(b) FROM (VALUES ('[0,5){}'::bins), ('[0,5)<=2{}')) AS v(b)$$);
-- the noise hides the largest amount, the ledger says which, a name is for it
SELECT round((a.stddev / b.stddev)::numeric, 1) AS times
  FROM dp_range_sums(dp_range_release('[0,5)<=50{1:70}', 0.5, method => 'flat'), '{"[0,1)"}') AS a, dp_range_sums(dp_range_release('[0,5){1:70}', 0.5, method => 'flat'), '{"[0,1)"}') AS b;
SELECT round(sum) FROM dp_range_sums(dp_range_release('[0,5)<=50{1:70, 4:5}', 1e6, method => 'flat'), '{"[0,2)", "[0,5)"}');
CREATE TABLE bought (id int, day int, price int);
INSERT INTO bought SELECT i, i % 5, i FROM generate_series(1, 100) AS i;
SELECT dp_create_dataset('bought', 'bought', '{id}', '{}', epsilon_budget => 10);
SELECT dp_range_sum(dp_range_release(bins_agg(day, 0, 5, price, 50), 1, dataset => 'bought', name => 'prices'), '[0,5)') BETWEEN 0 AND 10000 AS plausible FROM bought;
SELECT parameters->'max_amount' AS max_amount, parameters->>'bounds' AS bounds FROM dp.ledger WHERE dataset = 'bought';
SELECT * FROM error_of($$SELECT dp_range_release(bins_agg(day, 0, 5, price, 60), 1, dataset => 'bought', name => 'prices') FROM bought$$);
SELECT * FROM error_of($$SELECT dp_range_release(bins_agg(day, 0, 5), 1, dataset => 'bought', name => 'prices') FROM bought$$);
