-- Entities are counted alike whatever the type of their groups' key and the memory: in a table, in files, in files of
-- files, or by GROUP BY for keys such as numeric. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE TABLE household AS
SELECT i AS k_bigint, i::smallint AS k_small, md5(i::text)::uuid AS k_uuid, repeat('x', (i % 200)::int) || i AS k_text,
       (i / 2.0)::numeric AS k_numeric, date '2000-01-01' + i::int AS k_date, (i % 3 + 1)::int AS k_part, (i / 3)::int AS k_rest,
       ('{red,green,blue}'::color[])[(i % 3 + 1)::int] AS k_color, (i / 3)::text::varchar AS k_varchar,
       'state ' || i % 7 AS state, (i % 11)::numeric AS county
  FROM generate_series(1, 9000::bigint) AS i;
CREATE TABLE person AS
SELECT k_bigint::int, k_small::bigint, k_uuid, k_text::varchar, k_numeric * 1.00 AS k_numeric, k_date,
       k_part::bigint, k_rest, k_color, k_varchar::text, state, county, (i % 5 - 1)::int AS size
  FROM household, generate_series(1, (k_bigint * 7919 % 4)::int) AS i;
INSERT INTO person (k_bigint, k_uuid) VALUES (-1, gen_random_uuid()), (NULL, NULL); -- of no group
INSERT INTO household (state, county) VALUES ('of no household', 1.10);

CREATE TABLE key AS
SELECT * FROM unnest(ARRAY['k_bigint', 'k_small', 'k_uuid', 'k_text', 'k_numeric', 'k_date', 'k_part,k_rest', 'k_color,k_varchar',
                           'k_uuid,k_text,k_date']) AS columns;
SELECT dp_create_dataset('groups ' || columns, 'person', string_to_array(columns, ','), '{state,county}', 'household', epsilon_budget => 1e9),
       dp_create_dataset('no groups ' || columns, 'person', string_to_array(columns, ','), '{state,county}', epsilon_budget => 1e9),
       dp_create_dataset('sizes ' || columns, 'person', string_to_array(columns, ','), '{state,county}', 'household', 'size',
                         epsilon_budget => 1e9)
  FROM key;

-- in how many rows a release differs from plain SQL
CREATE FUNCTION differences(dataset text, sizes text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    result bigint;
BEGIN
    EXECUTE format('
        WITH released AS (
            SELECT path[1] AS state, path[2] AS county, size, groups FROM dp_hierarchy_release(%L, 2e6, max_size => 4) WHERE level = 2),
        exact AS (SELECT state, county::text, least(size, 4) AS size, count(*) AS groups FROM (%s) AS s GROUP BY 1, 2, 3)
        SELECT count(*) FROM ((TABLE released EXCEPT TABLE exact) UNION ALL (TABLE exact EXCEPT TABLE released)) AS d', dataset, sizes)
        INTO result;
    RETURN result;
END $$;
CREATE FUNCTION differences(columns text) RETURNS TABLE (groups bigint, no_groups bigint, sizes bigint) LANGUAGE sql AS $$
SELECT differences('groups ' || columns, format('SELECT g.state, g.county, count(e) AS size FROM household AS g
                   LEFT JOIN person AS e USING (%s) WHERE g.k_bigint IS NOT NULL GROUP BY %1$s, 1, 2', columns)),
       differences('no groups ' || columns, format('SELECT state, county, count(*) AS size FROM person WHERE state IS NOT NULL
                   GROUP BY %s, 1, 2', columns)),
       differences('sizes ' || columns, format('SELECT g.state, g.county, coalesce(sum(greatest(e.size, 0)), 0) AS size FROM household AS g
                   LEFT JOIN person AS e USING (%s) WHERE g.k_bigint IS NOT NULL GROUP BY %1$s, 1, 2', columns))
$$;
SET pg_dp.work_mem = '64MB';
SELECT columns, d.* FROM key, differences(columns) AS d;
SET pg_dp.work_mem = '64kB';
SELECT columns, d.* FROM key, differences(columns) AS d;

-- more groups than fit, counted without the help of another thread and with it
CREATE TABLE many AS SELECT i::bigint * i % 150001 AS k, (i::bigint * i % 150001 % 3)::text AS state, 'c' AS county FROM generate_series(1, 400000) AS i;
SELECT dp_create_dataset('many', 'many', '{k}', '{state,county}', epsilon_budget => 1e9);
SET pg_dp.work_mem = '4MB';
-- and rows that the other thread leaves to this one: keys that are compressed or out of line, NULLs, a column that was
-- added later, regions that come late; in partitions whose columns lie in other places
CREATE TABLE mixed (state text, k text) PARTITION BY RANGE (k);
CREATE TABLE mixed_1 PARTITION OF mixed FOR VALUES FROM (MINVALUE) TO ('key 5');
CREATE TABLE mixed_2 (filler int, k text, state text);
ALTER TABLE mixed_2 DROP COLUMN filler;
ALTER TABLE mixed ATTACH PARTITION mixed_2 FOR VALUES FROM ('key 5') TO (MAXVALUE);
CREATE TABLE mixed_rest PARTITION OF mixed DEFAULT; -- NULLs
INSERT INTO mixed SELECT (i % 150001 % 3)::text, 'key ' || i % 150001 FROM generate_series(1, 150000) AS i;
ALTER TABLE mixed ADD COLUMN county text DEFAULT 'a', ADD COLUMN n int DEFAULT 2;
INSERT INTO mixed
SELECT CASE WHEN i % 997 > 0 THEN (i % 150001 % 3)::text END,
       CASE i % 1000 WHEN 1 THEN repeat('long ', 2000) || i / 2000
                     WHEN 2 THEN (SELECT string_agg(md5(i / 2000 || 'n' || j), '') FROM generate_series(1, 300) AS j)
                     WHEN 3 THEN NULL ELSE 'key ' || i % 150001 END,
       CASE WHEN i < 250000 THEN 'b' ELSE 'c ' || i / 5000 END, i % 5 - 1
  FROM generate_series(150000, 400000) AS i;
CREATE TABLE mixed_groups AS
SELECT 'g ' || k AS k, 'state ' || length(k) AS state, 'county ' || right(k, 2) AS county FROM (SELECT DISTINCT k FROM mixed) AS k
 WHERE k NOT LIKE '%7';
ALTER TABLE mixed_groups ALTER state SET NOT NULL, ALTER county SET NOT NULL;
INSERT INTO mixed_groups VALUES (NULL, 'no', 'key');
CREATE TABLE mixed_rows AS SELECT n, 'g ' || k AS k FROM mixed;
SELECT dp_create_dataset('mixed', 'mixed', '{k,state,county}', '{state,county}', epsilon_budget => 1e9),
       dp_create_dataset('mixed_of', 'mixed_rows', '{k}', '{state,county}', 'mixed_groups', epsilon_budget => 1e9),
       dp_create_dataset('mixed_n', 'mixed_rows', '{k}', '{state,county}', 'mixed_groups', size_column => 'n', epsilon_budget => 1e9);
PREPARE differences AS
SELECT differences('many', 'SELECT state, county, count(*) AS size FROM many GROUP BY k, 1, 2') AS many,
       differences('mixed', 'SELECT state, county, count(*) AS size FROM mixed
                              WHERE state IS NOT NULL AND k IS NOT NULL GROUP BY k, 1, 2') AS mixed,
       differences('mixed_of', 'SELECT state, county, count(r) AS size FROM mixed_groups AS g LEFT JOIN mixed_rows AS r USING (k)
                                 WHERE k IS NOT NULL GROUP BY k, 1, 2') AS of_groups,
       differences('mixed_n', 'SELECT state, county, coalesce(sum(greatest(n, 0)), 0) AS size
                                 FROM mixed_groups AS g LEFT JOIN mixed_rows AS r USING (k)
                                WHERE k IS NOT NULL GROUP BY k, 1, 2') AS weighted;
SET max_parallel_workers_per_gather = 0;
EXECUTE differences;
SET max_parallel_workers_per_gather = 2;
EXECUTE differences;
RESET max_parallel_workers_per_gather;

-- a group that lies in two regions, or stands twice among the groups, is found among many; NULLs lie in none and stand for none
CREATE TABLE torn AS TABLE many;
INSERT INTO torn VALUES (7, NULL, 'c'), (NULL, 'other', 'c'), (NULL, '1', 'c');
CREATE TABLE torn_numeric AS SELECT k::numeric, state, county FROM torn;
CREATE TABLE doubled AS SELECT DISTINCT k, state, county FROM many;
ALTER TABLE doubled ALTER state SET NOT NULL, ALTER county SET NOT NULL;
INSERT INTO doubled VALUES (NULL, '1', 'c'), (NULL, '1', 'c');
CREATE TABLE declaration AS
SELECT * FROM unnest(ARRAY[$$'torn', '{k}', '{state,county}'$$, $$'torn_numeric', '{k}', '{state,county}'$$,
                           $$'torn', '{k,state,county}', '{state,county}'$$, $$'many', '{k}', '{state,county}', 'doubled'$$]) AS arguments;
CREATE FUNCTION declared(arguments text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT dp_create_dataset(''torn'', %s, epsilon_budget => 1), dp_drop_dataset(''torn'')', arguments);
    RETURN 'declared';
EXCEPTION WHEN OTHERS THEN RETURN sqlstate || ' ' || sqlerrm;
END $$;
SELECT arguments, declared(arguments) FROM declaration;
-- regions are what is printed, as in releases
CREATE TABLE printed AS SELECT 1 AS k, 1.0 AS n, * FROM (VALUES (1, 2.0), (1, 2.00)) AS r (whole, numeric);
INSERT INTO declaration VALUES ($$'printed', '{k}', '{whole}'$$), ($$'printed', '{n}', '{whole}'$$),
                               ($$'printed', '{k}', '{numeric}'$$), ($$'printed', '{n}', '{numeric}'$$);
INSERT INTO torn VALUES (150000, 'other', 'c');
INSERT INTO torn_numeric VALUES (150000.0, 'other', 'c');
INSERT INTO doubled SELECT k, 'other', county FROM doubled WHERE k = (SELECT max(k) FROM doubled);
SET max_parallel_workers_per_gather = 0;
SELECT arguments, declared(arguments) FROM declaration;
RESET max_parallel_workers_per_gather;
SELECT arguments, declared(arguments) FROM declaration;
SET pg_dp.work_mem = '64kB';

-- a limit on temporary files would be met or not as there are rows, after the charge: it does not count
SET temp_file_limit = 0; SET work_mem = '64kB';
SELECT code FROM error_of('SELECT count(DISTINCT i) FROM generate_series(1, 100000) AS i');
SELECT count(*) > 0 AS in_files FROM dp_hierarchy_release('groups k_bigint', 1e6);
SELECT count(*) > 0 AS grouped_in_files FROM dp_hierarchy_release('groups k_numeric', 1e6);
SHOW temp_file_limit;
RESET temp_file_limit; RESET work_mem;

-- char(3) and char(5) pad alike for = only
CREATE TABLE narrow (k char(3), r text NOT NULL); INSERT INTO narrow VALUES ('a', 'r');
CREATE TABLE wide (k char(5)); INSERT INTO wide VALUES ('a'), ('a');
SELECT dp_create_dataset('padded', 'wide', '{k}', '{r}', 'narrow', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('padded', 1e6) WHERE level = 1;

-- keys are equal if their values are, however they are stored: with a header of 1 byte or 4, compressed, out of line
CREATE TABLE stored_plain (k text, state text NOT NULL);
ALTER TABLE stored_plain ALTER k SET STORAGE PLAIN;
CREATE TABLE stored_as_usual (k text);
CREATE TABLE stored_outside (k text, state text NOT NULL);
ALTER TABLE stored_outside ALTER k SET STORAGE EXTERNAL;
COPY stored_plain FROM STDIN DELIMITER ','; -- INSERT would shorten the headers all the same
short 1,state 1
short 2,state 2
short 3,state 1
\.
INSERT INTO stored_outside SELECT repeat('long ', 2000) || i, 'state ' || i % 2 FROM generate_series(1, 10) AS i;
INSERT INTO stored_as_usual SELECT k FROM (SELECT k FROM stored_plain UNION ALL SELECT k FROM stored_outside) AS g, generate_series(1, 3);
INSERT INTO stored_as_usual VALUES (NULL);
SELECT (SELECT min(pg_column_size(k)) FROM stored_plain) - (SELECT min(pg_column_size(k)) FROM stored_as_usual) AS longer_header;
SELECT DISTINCT pg_column_compression(u.k) IS NOT NULL AS compressed, pg_column_compression(o.k) IS NOT NULL AS outside_compressed
  FROM stored_outside AS o JOIN stored_as_usual AS u USING (k);
SELECT pg_relation_size(reltoastrelid) > 100000 AS out_of_line FROM pg_class WHERE relname = 'stored_outside';
SELECT dp_create_dataset('plain', 'stored_as_usual', '{k}', '{state}', 'stored_plain', epsilon_budget => 1e9),
       dp_create_dataset('outside', 'stored_as_usual', '{k}', '{state}', 'stored_outside', epsilon_budget => 1e9);
SELECT * FROM histograms($$dp_hierarchy_release('plain', 1e6)$$);
SELECT * FROM histograms($$dp_hierarchy_release('outside', 1e6)$$);
-- as regions, too
CREATE TABLE far_regions (id int, state text, county text);
ALTER TABLE far_regions ALTER county SET STORAGE EXTERNAL;
INSERT INTO far_regions SELECT i, repeat('state ', 5000), repeat('county ', 1000) || i % 2 FROM generate_series(1, 10) AS i;
INSERT INTO far_regions VALUES (11, NULL, 'no state'), (NULL, 'no', 'group'); -- no groups
SELECT dp_create_dataset('far', 'far_regions', '{id}', '{state,county}', epsilon_budget => 1e9);
SELECT level, right(path[level], 10), length(path[level]), size, groups FROM dp_hierarchy_release('far', 1e6) ORDER BY 1, 2;

-- entities come from a parallel worker, or through a cursor
SELECT count(*) AS set FROM (SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')) AS s;
SET pg_dp.work_mem = '64MB';
SELECT d.* FROM differences('k_text') AS d;
SET pg_dp.work_mem = '64kB';
SELECT d.* FROM differences('k_text') AS d;
SELECT count(*) AS reset FROM (SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')) AS s;
BEGIN;
DECLARE release CURSOR FOR SELECT * FROM dp_hierarchy_release('padded', 1e6);
FETCH 1 FROM release;
FETCH ALL FROM release;
COMMIT;

-- a row of a dataset with a size_column is a group, or, if it is of type coco, many
CREATE TABLE sized (k numeric, state text, county numeric, size int);
INSERT INTO sized SELECT k_numeric, state, county, size FROM person;
INSERT INTO sized VALUES (NULL, 'state 1', 1.00, NULL), (1, 'state 1', 1, -5), (1, 'state 1', 1, 2000000000), (1, NULL, 1, 1), (1, 'state 1', NULL, 1);
CREATE TABLE daily AS
SELECT state, county, day, coco_agg(greatest(size, 0)) AS sizes FROM (SELECT *, row_number() OVER () % 3 AS day FROM sized) AS s
 WHERE size IS NOT NULL GROUP BY 1, 2, 3;
INSERT INTO daily VALUES ('state 1', 1.00, 1, '{0:1}'), ('state 1', 1.00, 1, '{}'), ('state 2', 2, 1, NULL); -- the first is sized's NULL
SELECT dp_create_dataset('sizes', 'sized', '{k}', '{state,county}', size_column => 'size', epsilon_budget => 1e9),
       dp_create_dataset('histograms', 'daily', '{}', '{state,county}', size_column => 'sizes', epsilon_budget => 1e9);
SELECT differences(dataset, 'SELECT state, county, greatest(size, 0) AS size FROM sized WHERE state IS NOT NULL AND county IS NOT NULL')
  FROM unnest('{sizes,histograms}'::text[]) AS dataset;
SELECT sum(groups) FROM dp_hierarchy_release('histograms', 1e6) WHERE level = 0;
SELECT dp_create_dataset('histograms of the nation', 'daily', '{}', '{}', size_column => 'sizes', epsilon_budget => 1e9);
SELECT * FROM histograms($$dp_hierarchy_release('histograms of the nation', 1e6)$$);
-- stored out of line and compressed
CREATE TABLE long_histogram AS
SELECT 'out of line' AS state, format('{%s}', string_agg(size || ':' || size % 7 + 1, ','))::coco AS sizes FROM generate_series(0, 99999) AS size
 UNION ALL SELECT 'compressed', format('{%s}', string_agg(size || ':1099511627776', ','))::coco FROM generate_series(0, 9999) AS size;
SELECT state, pg_column_compression(sizes) IS NOT NULL AS compressed, pg_column_size(sizes) > 8192 AS longer_than_a_page FROM long_histogram;
SELECT dp_create_dataset('long', 'long_histogram', '{}', '{state}', size_column => 'sizes', epsilon_budget => 1e9);
SELECT path, count(*), sum(groups), sum(size * groups) FROM dp_hierarchy_release('long', 2e6, '{Hc}', max_size => 100000) GROUP BY 1 ORDER BY 1;
-- many groups at once: sums saturate
CREATE TABLE huge AS SELECT 'one' AS state, '{3:9223372036854775807}'::coco AS sizes FROM generate_series(1, 3);
SELECT dp_create_dataset('huge', 'huge', '{}', '{state}', size_column => 'sizes', epsilon_budget => 1e9);
SELECT * FROM histograms($$dp_hierarchy_release('huge', 1e6, '{Hc}', 'none')$$);
-- a region without a histogram is one all the same, wherever its row stands
CREATE TABLE empty AS SELECT format('%s', lpad(i::text, 4, '0')) AS state, CASE WHEN i NOT IN (1, 7, 64, 65, 1984, 3000) THEN '{1:1, 3:2}'::coco END AS sizes FROM generate_series(1, 3000) AS i;
SELECT dp_create_dataset('empty', 'empty', '{}', '{state}', size_column => 'sizes', epsilon_budget => 1e9);
SELECT count(DISTINCT path) AS regions, sum(groups) AS groups FROM dp_hierarchy_release('empty', 1e6) WHERE level = 1;
SELECT count(*) AS rows FROM dp_hierarchy_release('empty', 1e6, name => 'all');
SELECT region, groups, entities, mean_size FROM dp.release_regions WHERE dataset = 'empty' AND groups = 0 OR level = 0 AND dataset = 'empty' ORDER BY 1;

-- what has no meaning with histograms is refused
ALTER TABLE daily ADD who text, ADD dp dp_coco;
SELECT e.* FROM (VALUES ('''{state}'', ''{county}'', ''household'', ''sizes'''), ('''{}'', ''{state}'', size_column => ''dp'''),
    ('''{}'', ''{state}'', size_column => ''sizes'', privacy_unit => ''who'', max_rows_per_unit => 1')) AS bad(arguments),
    error_of(format('SELECT dp_create_dataset(''bad'', ''daily'', %s, epsilon_budget => 1)', arguments)) AS e;
SELECT * FROM error_of($$SELECT dp_range_sums('histograms', 'day', '{"[0,18)"}', 0.5)$$);
SELECT * FROM error_of($$SELECT dp_range_sums('histograms', 'sizes', '{"[0,18)"}', 0.5)$$);
SELECT * FROM error_of($$SELECT dp_range_release('[0,24){}', 0.5, dataset => 'histograms')$$);
-- a column that gets another type is another one
ALTER TABLE daily ALTER sizes TYPE text USING sizes::text;
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('histograms', 0.5)$$);

-- rows are taken apart as they were stored: before a column was dropped or added, with a default or without, with NULLs or
-- not, and in parts whose columns stand in another order
CREATE TABLE changed (gone int, flag "char", k smallint, state text) PARTITION BY LIST (flag);
CREATE TABLE changed_a PARTITION OF changed FOR VALUES IN ('a');
INSERT INTO changed SELECT i, 'a', i / 3, 'state ' || i % 2 FROM generate_series(1, 900) AS i;
CREATE TABLE changed_b (state text, other text, k smallint, flag "char", gone int);
INSERT INTO changed_b SELECT 'state ' || i % 2, repeat('x', i % 300), i / 2, 'b', nullif(i % 2, 0) FROM generate_series(1, 900) AS i;
ALTER TABLE changed_b DROP other;
ALTER TABLE changed ATTACH PARTITION changed_b FOR VALUES IN ('b');
ALTER TABLE changed DROP gone, ADD later int DEFAULT 7, ADD last date;
INSERT INTO changed SELECT 'a', i / 3, 'state 1', nullif(i % 4, 0), date '2000-01-01' + i / 100 FROM generate_series(1, 300) AS i;
SELECT dp_create_dataset('changed', 'changed', '{k,state,later}', '{state,later}', epsilon_budget => 1e9),
       dp_create_dataset('last', 'changed', '{k,last,state,flag}', '{state,flag}', epsilon_budget => 1e9);
SELECT differences('changed', 'SELECT state, later AS county, count(*) AS size FROM changed WHERE later IS NOT NULL GROUP BY k, 1, 2'),
       differences('last', 'SELECT state, flag AS county, count(*) AS size FROM changed WHERE last IS NOT NULL GROUP BY k, last, 1, 2');
