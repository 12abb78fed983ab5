-- dp_hierarchy_release: what is counted, for every shape of data. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL, county text NOT NULL);
INSERT INTO household VALUES (1, 'A', 'x'), (2, 'A', 'x'), (3, 'A', 'y'), (4, 'B', 'x'), (5, 'B', 'x');
CREATE TABLE person (id int);
-- household 5 is empty; NULL and unknown households are nobody's
INSERT INTO person VALUES (1), (1), (1), (2), (3), (4), (4), (NULL), (NULL), (77);
SELECT dp_create_dataset('census', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('census', 1e6);
SELECT histogram AS root_capped_at_2 FROM histograms($$dp_hierarchy_release('census', 1e6, max_size => 2)$$) WHERE path = '{}';

-- every estimator with every consistency method returns the truth when there is no noise
CREATE TEMP TABLE truth AS SELECT * FROM histograms($$dp_hierarchy_release('census', 1e6)$$);
SELECT m AS consistency, count(*) AS estimators, bool_and(same) AS all_true
  FROM unnest('{matching,matching_unweighted,bottom_up,none}'::text[]) AS m,
       unnest('{{H},{Hc},{Hc_l2},{Hg},{cut},{cut:3},{auto}}'::text[]) AS estimator,
       LATERAL (SELECT count(*) = 6 AS same FROM histograms(format(
           'dp_hierarchy_release(''census'', 1e6, estimators => %L, consistency => %L)', ARRAY[estimator], m)) AS r
           JOIN truth USING (path, histogram)) AS compared
 GROUP BY m ORDER BY m;
SELECT count(*) AS mixed FROM histograms($$dp_hierarchy_release('census', 1e6, '{H,Hc,Hg}', budget_shares => '{0.2,0.3,0.5}')$$)
  JOIN truth USING (path, histogram);

-- one level; groups that are declared public by occurring; a size column
SELECT dp_create_dataset('flat', 'person', '{id}', '{}', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('flat', 1e6);
CREATE TABLE trip (taxi int, zone text, day date);
INSERT INTO trip SELECT i % 4, 'z' || i % 4 / 2, DATE '2026-01-01' + i FROM generate_series(1, 10) AS i;
INSERT INTO trip VALUES (NULL, 'z0', NULL), (9, NULL, NULL);
SELECT dp_create_dataset('taxis', 'trip', '{taxi}', '{zone}', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('taxis', 1e6);
CREATE TABLE shop (name text, city text, staff int);
INSERT INTO shop VALUES ('a', 'P', 3), ('b', 'P', NULL), ('c', 'Q', -4), ('d', 'Q', 2000000000), ('e', NULL, 8);
SELECT dp_create_dataset('shops', 'shop', '{name}', '{city}', size_column => 'staff', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('shops', 1e6);
CREATE TABLE city_shop (name text, city text);
INSERT INTO city_shop VALUES ('a', 'P'), ('b', 'P'), ('c', 'Q'), ('none', 'Q'), (NULL, 'no shops here');
INSERT INTO shop VALUES ('a', 'moved?', 4), ('a', 'P', 9223372036 % 7);
SELECT dp_create_dataset('sums', 'shop', '{name}', '{city}', 'city_shop', 'staff', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('sums', 1e6);

-- sums saturate; regions that need quoting; values that read alike
CREATE TABLE "Odd ""Table" (k bigint, "the region" numeric, n bigint);
INSERT INTO "Odd ""Table" VALUES (1, 1.0, 9223372036854775807), (1, 1.0, 9223372036854775807), (2, 2.50, 1), (3, 2.5, 1);
CREATE TABLE "Odd Groups" AS SELECT DISTINCT ON (k) k, "the region" FROM "Odd ""Table";
SELECT dp_create_dataset('odd', '"Odd ""Table"', '{k}', '{"the region"}', '"Odd Groups"', 'n', epsilon_budget => 1e9);
SELECT level, path[1]::float8 AS region, size, groups FROM dp_hierarchy_release('odd', 1e6, '{Hg}');

-- no rows at all
CREATE TABLE nobody (id int, a text, b text);
SELECT dp_create_dataset('nobody', 'nobody', '{id}', '{a,b}', epsilon_budget => 10);
SELECT * FROM dp_hierarchy_release('nobody', 1);
SELECT dp_create_dataset('nobody at the root', 'nobody', '{id}', '{}', epsilon_budget => 10);
SELECT * FROM dp_hierarchy_release('nobody at the root', 1);

-- ten levels; a partitioned table; a materialized view
CREATE TABLE deep AS SELECT i, i % 2 AS a, 1 AS b, 1 AS c, 1 AS d, 1 AS e, 1 AS f, 1 AS g, 1 AS h, i % 4 AS j FROM generate_series(1, 40) AS i;
SELECT dp_create_dataset('deep', 'deep', '{i}', '{a,b,c,d,e,f,g,h,j}', epsilon_budget => 1e9);
SELECT level, count(*) AS regions, sum(groups) AS groups FROM dp_hierarchy_release('deep', 1e6) GROUP BY level ORDER BY level;
CREATE TABLE parted (id int, r text) PARTITION BY LIST (r);
CREATE TABLE parted_a PARTITION OF parted FOR VALUES IN ('a');
CREATE TABLE parted_b PARTITION OF parted FOR VALUES IN ('b');
INSERT INTO parted VALUES (1, 'a'), (1, 'a'), (2, 'b');
CREATE MATERIALIZED VIEW parted_view AS SELECT * FROM parted;
SELECT dp_create_dataset(t, t::regclass, '{id}', '{r}', epsilon_budget => 1e9) FROM unnest('{parted,parted_view}'::text[]) AS t;
SELECT t, h.* FROM unnest('{parted,parted_view}'::text[]) AS t, histograms(format('dp_hierarchy_release(%L, 1e6)', t)) AS h;

-- a stored release: charged once, served again, refused with other parameters
SELECT dp_create_dataset('quarter', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 3);
CREATE TEMP TABLE first_time AS SELECT * FROM dp_hierarchy_release('quarter', 1, name => '2026 Q3');
CREATE TEMP TABLE second_time AS SELECT * FROM dp_hierarchy_release('quarter', 1, name => '2026 Q3');
SELECT count(*) AS differences FROM ((TABLE first_time EXCEPT TABLE second_time) UNION ALL (TABLE second_time EXCEPT TABLE first_time)) AS d;
SELECT count(*) AS differences_in_view FROM (TABLE first_time EXCEPT SELECT level, path, size, groups FROM dp.release_rows WHERE dataset = 'quarter' AND release = '2026 Q3') AS d;
SELECT epsilon_spent, releases FROM dp_budget('quarter');
SELECT * FROM error_of($$SELECT dp_hierarchy_release('quarter', 0.5, name => '2026 Q3')$$);
SELECT dataset, name, epsilon, parameters, regions FROM dp.releases ORDER BY name;
SELECT epsilon_spent, releases FROM dp_budget('quarter');

-- the groups table is checked at every release: the sensitivity rests on it
CREATE TABLE home (id int, r text); INSERT INTO home VALUES (1, 'a'), (2, 'b');
SELECT dp_create_dataset('homes', 'person', '{id}', '{r}', 'home', epsilon_budget => 1e9);
INSERT INTO home VALUES (1, 'b');
SELECT * FROM error_of($$SELECT dp_hierarchy_release('homes', 1e6)$$);
DELETE FROM home WHERE r = 'b'; INSERT INTO home VALUES (3, NULL);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('homes', 1e6)$$);
ALTER TABLE home RENAME COLUMN r TO q;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('homes', 1e6)$$);

-- arguments that are refused; nothing is spent
SELECT e.* FROM (VALUES ('NULL, 1'), ('''nowhere'', 1'), ('''quarter'', NULL'), ('''quarter'', 0'), ('''quarter'', -1'),
    ('''quarter'', ''NaN'''), ('''quarter'', ''Infinity'''), ('''quarter'', 1e-12'), ('''quarter'', 1e12'),
    ('''quarter'', 1, ''{Hx}'''), ('''quarter'', 1, ''{cut:-1}'''), ('''quarter'', 1, ''{}'''), ('''quarter'', 1, ''{Hc,NULL,Hc}'''),
    ('''quarter'', 1, NULL'), ('''quarter'', 1, ''{Hc,Hg}'''), ('''quarter'', 1, consistency => ''median'''),
    ('''quarter'', 1, consistency => NULL'), ('''quarter'', 1, max_size => 0'), ('''quarter'', 1, max_size => -1'),
    ('''quarter'', 1, max_size => 5000001'), ('''quarter'', 1, max_size => NULL'),
    ('''quarter'', 1, budget_shares => ''{0.5,0.5}'''), ('''quarter'', 1, budget_shares => ''{0.5,0.3,0.3}'''),
    ('''quarter'', 1, budget_shares => ''{1.5,-0.5,0}'''), ('''quarter'', 1, budget_shares => ''{0.5,0.5,NULL}'''),
    ('''quarter'', 1, budget_shares => ''{NaN,0.5,0.5}'''),
    ('''quarter'', 1, consistency => ''bottom_up'', budget_shares => ''{0.2,0.3,0.5}'''))
    AS bad(arguments), error_of(format('SELECT dp_hierarchy_release(%s)', arguments)) AS e;
SELECT epsilon_spent, releases FROM dp_budget('quarter');

-- a long release can be cancelled; the server and the session live on
SET statement_timeout = '300ms';
SELECT dp_coco_histogram('{3:1000000000}'::coco, 1.0, method => 'Hg') \g /dev/null
RESET statement_timeout;
SELECT 'alive' AS server;

-- the methods that hold all cells at once: what the ledger says, which estimators have a meaning, how many cells
SELECT consistency, count(*) > 0 AS rows, sum(groups) FILTER (WHERE level = 0) AS groups
  FROM unnest('{pgsr,topdown,cumulative,chain}'::text[]) AS consistency,
       dp_hierarchy_release('quarter', 0.001, '{Hc_l2}', consistency, 10)
 GROUP BY consistency ORDER BY consistency;
SELECT parameters->>'consistency' AS consistency, parameters->'levels'->-1->>'sensitivity' AS sensitivity, parameters->>'note' AS note
  FROM dp.ledger WHERE dataset = 'quarter' ORDER BY id DESC LIMIT 4;
SELECT epsilon_spent AS spent FROM dp_budget('quarter') \gset
SELECT e.* FROM unnest(ARRAY[
    $$SELECT dp_hierarchy_release('quarter', 0.1, '{H}', 'chain')$$,
    $$SELECT dp_hierarchy_release('quarter', 0.1, '{Hg}', 'cumulative')$$]) AS statement, error_of(statement) AS e;
CREATE TABLE many AS SELECT i AS id, i AS region FROM generate_series(1, 20) AS i;
CREATE TABLE of_many AS SELECT id FROM many;
SELECT dp_create_dataset('many', 'of_many', '{id}', '{region}', 'many', epsilon_budget => 1);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('many', 0.1, consistency => 'pgsr', max_size => 5000000)$$);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('many', 4e-9, '{Hc}', 'chain')$$);
SELECT epsilon_spent - :spent AS spent FROM dp_budget('quarter') UNION ALL SELECT epsilon_spent FROM dp_budget('many');
-- without a table of groups only private rows tell how many regions there are: they are read once that is paid for
SELECT dp_create_dataset('undeclared', 'many', '{id}', '{region}', epsilon_budget => 1);
INSERT INTO many VALUES (NULL, 21); -- of no group: no region either
SELECT * FROM error_of($$SELECT dp_hierarchy_release('undeclared', 0.1, consistency => 'pgsr', max_size => 5000000)$$);
SELECT epsilon_spent FROM dp_budget('undeclared');
-- a release that is refused has read nothing of them; a serializable one is refused, as its conflicts would tell of them
BEGIN;
SELECT pg_stat_get_xact_numscans('many'::regclass) AS scans \gset before_
SAVEPOINT before;
SELECT dp_hierarchy_release('undeclared', 5, consistency => 'pgsr', max_size => 100);
ROLLBACK TO before;
SELECT pg_stat_get_xact_numscans('many'::regclass) - :before_scans AS scans;
SELECT dp_hierarchy_release('undeclared', 0.1, consistency => 'pgsr', max_size => 100) \g /dev/null
SELECT pg_stat_get_xact_numscans('many'::regclass) - :before_scans AS scans;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SAVEPOINT before;
SELECT dp_hierarchy_release('undeclared', 0.1);
ROLLBACK TO before;
SELECT count(*) AS locks FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'many'::regclass;
ROLLBACK;
-- at REPEATABLE READ what is committed now is checked and read, not what the transaction sees otherwise
CREATE TABLE late AS SELECT i AS id, 'r' AS region FROM generate_series(1, 3) AS i;
SELECT dp_create_dataset('late', 'late', '{id}', '{region}', epsilon_budget => 1e7);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM late;
\! psql -X -q -c 'INSERT INTO late VALUES (4)' -c "UPDATE late SET region = 'r'"
SELECT sum(groups) FROM dp_hierarchy_release('late', 1e6) WHERE level = 0;
SELECT count(*) FROM late;
COMMIT;

-- stored rows are not checked one by one for their release, but all others are, and triggers of the administrator's fire
DO $$ BEGIN
    INSERT INTO dp.release_region (release, n, path, histogram) SELECT -1, n, path, histogram FROM dp.release_region LIMIT 1;
EXCEPTION WHEN foreign_key_violation THEN RAISE WARNING 'refused: %', sqlerrm;
END $$;
CREATE TABLE noted (path text[]);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.noted VALUES (NEW.path); RETURN NULL; END $$;
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('late', 1e5, name => 'without triggers');
CREATE TRIGGER note AFTER INSERT ON dp.release_region FOR EACH ROW EXECUTE FUNCTION note();
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('late', 1e5, name => 'with a trigger');
DROP TRIGGER note ON dp.release_region;
TABLE noted ORDER BY path;
SELECT r.name, region, groups FROM dp.release_region AS g JOIN dp.release AS r ON r.id = g.release
 WHERE r.name LIKE 'with%' ORDER BY r.name, n;
-- a column of the administrator's gets its default
ALTER TABLE dp.release_region ADD COLUMN noted_at date DEFAULT '2026-01-01';
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('late', 1e5, name => 'with a column');
SELECT DISTINCT noted_at FROM dp.release_region AS g JOIN dp.release AS r ON r.id = g.release WHERE r.name = 'with a column';
ALTER TABLE dp.release_region DROP COLUMN noted_at;
-- generated columns have what they are declared as: in many batches, of long values, of empty regions, and names with slashes
CREATE TABLE wide AS SELECT 'state ' || i % 7 AS "the/state", CASE WHEN i % 50 = 3 THEN '(all)' ELSE 'county \' || i END AS county,
    CASE WHEN i % 97 > 1 THEN format('{0:%s,%s:%s,900:%s}', i % 3, 1 + i % 800, 1 + i % 9, i % 2)::coco WHEN i % 97 = 1 THEN '{}' END AS sizes
  FROM generate_series(1, 2500) AS i;
INSERT INTO wide SELECT 'long', 'one', format('{%s}', string_agg(size || ':' || 1 + size % 7, ','))::coco FROM generate_series(0, 30000) AS size;
SELECT dp_create_dataset('wide', 'wide', '{}', '{the/state,county}', size_column => 'sizes', epsilon_budget => 1e9);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('wide', 1e6, '{Hc}', max_size => 40000, name => 'all');
SELECT count(*) AS regions, max(pg_column_size(histogram)) > 8192 AS long, count(*) FILTER (WHERE groups = 0) AS empty,
       count(*) FILTER (WHERE (g.region, g.parent, groups, entities, mean_size, median, p90, gini) IS DISTINCT FROM
           (dp.region(path), CASE WHEN path <> '{}' THEN dp.region(path[:cardinality(path) - 1]) END, dp_groups(histogram), dp_entities(histogram),
            dp_mean_size(histogram), dp_quantile(histogram, 0.5), dp_quantile(histogram, 0.9), dp_gini(histogram))) AS others
  FROM dp.release_region AS g JOIN dp.release AS r ON r.id = g.release WHERE r.dataset_name = 'wide';
SET enable_seqscan = off;
SELECT region, parent, entities, gini FROM dp.release_region WHERE release = (SELECT id FROM dp.release WHERE dataset_name = 'wide') AND n IN (0, 1, 7) ORDER BY n;
RESET enable_seqscan;
-- and PostgreSQL makes the same of them
CREATE TEMP TABLE as_stored AS SELECT * FROM dp.release_region WHERE release = (SELECT id FROM dp.release WHERE dataset_name = 'wide');
-- a batch is written by one command, rows one by one by as many
SELECT name, count(DISTINCT g.cmin::text) = 1 AS together FROM dp.release_region AS g JOIN dp.release AS r ON r.id = g.release
 WHERE dataset_name = 'wide' OR name IN ('with a trigger', 'with a column') GROUP BY 1 ORDER BY 1;
UPDATE dp.release_region SET path = path, histogram = histogram WHERE release = (SELECT id FROM dp.release WHERE dataset_name = 'wide');
SELECT count(*) AS regions, count(*) FILTER (WHERE s::text IS DISTINCT FROM g::text) AS others FROM as_stored AS s JOIN dp.release_region AS g USING (release, n);
