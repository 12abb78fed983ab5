-- coco_agg
SELECT coco_agg(s) FROM (VALUES (4), (2), (1), (1)) AS v(s);
SELECT coco_agg(s) AS of_nothing, coco_agg('{}'::coco) FILTER (WHERE false) AS of_no_histograms
  FROM (VALUES (4)) AS v(s) WHERE s < 0;
SELECT coco_agg(h) FROM (VALUES ('{1:2}'::coco), (NULL), ('{1:1, 3:4}')) AS v(h);
SELECT s % 2 AS odd, coco_agg(s) FROM generate_series(1, 6) AS s GROUP BY 1 ORDER BY 1;
SELECT s, coco_agg(s) OVER (ORDER BY s) FROM generate_series(1, 3) AS s; -- exact: a window is fine
SELECT coco_add('{1:1}', 1), coco_merge('{1:1}', '{2:2}'); -- outside of any aggregation
SELECT * FROM error_of('SELECT coco_agg(s) FROM (VALUES (1), (-1)) AS v(s)');
SELECT * FROM error_of('SELECT coco_agg(s) FROM (VALUES (1), (NULL)) AS v(s)');

-- a large table is aggregated in parallel, and the parts add up
CREATE TABLE large AS SELECT (i * 7919) % 1000 AS size, i % 5 AS region FROM generate_series(1, 500000::bigint) AS i;
ANALYZE large;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
EXPLAIN (COSTS OFF) SELECT coco_agg(size) FROM large;
CREATE TABLE parallel_parts AS SELECT region, coco_agg(size) AS h FROM large GROUP BY region;
CREATE TABLE parallel_whole AS SELECT coco_agg(size) AS h FROM large;
SET max_parallel_workers_per_gather = 0;
SELECT w.h::text = (SELECT coco_agg(size)::text FROM large) AS whole_agrees,
       w.h::text = (SELECT coco_agg(h)::text FROM parallel_parts) AS parts_agree,
       w.h::text = (SELECT coco_agg(n ORDER BY n)::text FROM (SELECT size AS n FROM large) AS x) AS sorted_agrees
  FROM parallel_whole AS w;
SET work_mem = '64kB';
SELECT count(*) AS regions, sum((j.value)::bigint) AS groups
  FROM (SELECT size, coco_agg(region) AS h FROM large GROUP BY size) AS x, jsonb_each_text(h::jsonb) AS j;
RESET work_mem;

-- the release in one step: size, epsilon [, max_size [, method]]; the noise of epsilon = 1e6 is 0
SELECT dp_coco_histogram(s, 1e6), dp_coco_histogram(s, 1e6, 3), dp_coco_histogram(s, 1e6, 3, 'Hg')
  FROM (VALUES (4), (2), (1), (1)) AS v(s);
SELECT dp_coco_histogram(s, 1e6) AS null_and_negative_count_as_0
  FROM (VALUES (4), (NULL), (-7)) AS v(s);
SELECT dp_coco_histogram(s, 1.0) AS no_groups_nothing_private FROM (VALUES (4)) AS v(s) WHERE s < 0;
SELECT dp_groups(dp_coco_histogram(size, 0.1)) FROM large;
SELECT e.* FROM (VALUES ('size, 0'), ('size, -1'), ('size, ''NaN'''), ('size, ''Infinity'''), ('size, NULL'), ('size, 1e-12'),
                        ('size, 1e12'), ('size, size::float8 + 1'), ('size, 1, 0'), ('size, 1, -3'),
                        ('size, 1, 99999999'), ('size, 1, NULL'), ('size, 1, 10, ''Hx'''), ('size, 1, 10, NULL'))
         AS bad(arguments), error_of(format('SELECT dp_coco_histogram(%s) FROM large', arguments)) AS e;

-- the noise is neither shared between calls nor drawn in a window, a parallel worker or elsewhere
SELECT dp_coco_histogram(size, 0.01)::text <> dp_coco_histogram(size, 0.01)::text AS independent FROM large;
SELECT * FROM error_of('SELECT dp_coco_histogram(size, 1.0) OVER (ORDER BY size) FROM large');
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT dp_coco_histogram(size, 1.0) FROM large;
CREATE EXTENSION postgres_fdw;
CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname 'nowhere', extensions 'pg_dp');
CREATE USER MAPPING FOR CURRENT_USER SERVER loopback;
CREATE FOREIGN TABLE remote (size bigint) SERVER loopback OPTIONS (table_name 'large');
EXPLAIN (COSTS OFF, VERBOSE) SELECT coco_agg(size) FROM remote;
EXPLAIN (COSTS OFF, VERBOSE) SELECT dp_coco_histogram(size, 1.0) FROM remote;
-- needs: postgres_fdw
