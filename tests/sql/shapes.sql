-- Stored releases in the shapes that BI tools take. The noise of epsilon = 1e6 is 0.
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL, county text NOT NULL, persons bigint NOT NULL);
INSERT INTO household VALUES (1, 'A', 'x', 1), (2, 'A', 'x', 2), (3, 'A', 'y', 0), (4, 'A', 'y', 4), (5, 'B', 'x', 12), (6, 'B', 'x', 150);
CREATE TABLE person AS SELECT id FROM household, generate_series(1, persons);
SELECT dp_create_dataset('census', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 1e9);
SELECT count(*) FROM dp_hierarchy_release('census', 1e6, name => 'v1');
SELECT count(*) FROM dp_hierarchy_release('census', 1e6, name => 'v2', max_size => 10);

-- one row per region
SELECT dataset, release, level, level_name, region, parent, path, is_leaf, groups, entities, round(mean_size::numeric, 2) AS mean_size, median, p90, round(gini::numeric, 2) AS gini
  FROM dp.release_regions WHERE release = 'v1' ORDER BY level, region;
SELECT count(*) AS regions, bool_and(e.released_at = r.released_at) AS same_time FROM dp.release_regions AS r JOIN dp.releases AS e ON (e.dataset, e.name) = (r.dataset, r.release);
-- what they say is what the histograms say
SELECT count(*) AS same FROM dp.release_regions AS r JOIN dp.release_histograms AS h USING (dataset, release, path)
 WHERE (r.groups, r.entities, r.mean_size, r.median, r.p90, r.gini)
       = (dp_groups(histogram), dp_entities(histogram), dp_mean_size(histogram), dp_quantile(histogram, 0.5), dp_quantile(histogram, 0.9), dp_gini(histogram));

-- one row per region and size
SELECT dataset, release, level, region, is_leaf, size, groups, entities, size_band, size_band_order, level_name, path
  FROM dp.release_sizes WHERE release = 'v1' ORDER BY level, region, size;
SELECT count(*) AS rows, count(DISTINCT released_at) AS times FROM dp.release_sizes;
SELECT count(*) AS differences FROM (
    (SELECT dataset, release, level, path, size, groups FROM dp.release_sizes EXCEPT TABLE dp.release_rows) UNION ALL
    (TABLE dp.release_rows EXCEPT SELECT dataset, release, level, path, size, groups FROM dp.release_sizes)) AS d;
SELECT r.release, r.region, r.groups = sum(s.groups) AS groups, r.entities = sum(s.entities) AS entities
  FROM dp.release_regions AS r JOIN dp.release_sizes AS s USING (dataset, release, path) GROUP BY r.release, r.region, r.groups, r.entities ORDER BY 1, 2;

-- the bands: where each begins and ends; numbers that saturate
CREATE TABLE firm (place text, staff bigint);
INSERT INTO firm SELECT 'ladder', f * 10::numeric ^ k + d FROM generate_series(0, 6) AS k, unnest('{1,2,5}'::int[]) AS f, unnest('{-1,0}'::int[]) AS d WHERE f * 10::numeric ^ k <= 2000000;
SELECT dp_create_dataset('firms', 'firm', '{}', '{place}', size_column => 'staff', epsilon_budget => 1e9);
SELECT count(*) FROM dp_hierarchy_release('firms', 1e6, '{Hg}', max_size => 5000000, name => 'v1');
SELECT size_band_order, size_band, min(size) AS first, max(size) AS last FROM dp.release_sizes WHERE region = 'ladder' GROUP BY 1, 2 ORDER BY 1;
CREATE TABLE huge (place text, h coco);
INSERT INTO huge VALUES ('all', '{0:3, 3:4611686018427387904}');
SELECT dp_create_dataset('huge', 'huge', '{}', '{place}', size_column => 'h', epsilon_budget => 1e9);
SELECT count(*) FROM dp_hierarchy_release('huge', 1e6, '{Hc}', max_size => 10, name => 'v1');
SELECT region, size, groups, entities FROM dp.release_sizes WHERE dataset = 'huge' ORDER BY level, size;
SELECT region, groups, entities FROM dp.release_regions WHERE dataset = 'huge' ORDER BY level;

-- each region has a text of its own, whatever the names are
CREATE TABLE odd (a text, b text, n int);
INSERT INTO odd VALUES ('(all)', '(all)', 1), ('(all)', '', 1), ('', '', 1), ('', '/', 1), ('/', '', 1), ('a/b', 'c', 1), ('a', 'b/c', 1), ('a\', 'b', 1), ('a', '\b', 1), ('Côte d''Or', 'x y', 1);
SELECT dp_create_dataset('odd', 'odd', '{}', '{a,b}', size_column => 'n', epsilon_budget => 1e9);
SELECT count(*) FROM dp_hierarchy_release('odd', 1e6, name => 'v1');
SELECT level, region, parent, path FROM dp.release_regions WHERE dataset = 'odd' ORDER BY path COLLATE "C";
SELECT count(*) AS regions, count(DISTINCT region) AS texts FROM dp.release_regions WHERE dataset = 'odd';
SELECT count(*) AS with_parents FROM dp.release_regions AS c JOIN dp.release_regions AS p USING (dataset, release) WHERE dataset = 'odd' AND p.region = c.parent AND p.path = c.path[:c.level - 1];

-- a filter on a region is applied before histograms are taken apart, also one that could pass rows on
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP RETURN NEXT substring(line FROM '(?:Function Scan|Filter: .*(?:State|region)).*'); END LOOP;
END $$;
SELECT p FROM plan('SELECT * FROM dp.release_sizes WHERE region = ''State''') AS p WHERE p IS NOT NULL;
SELECT p FROM plan('SELECT * FROM dp.release_sizes WHERE region LIKE ''State/%''') AS p WHERE p IS NOT NULL;
SELECT p FROM plan('SELECT * FROM dp.release_sizes WHERE path[1] = ''State''') AS p WHERE p IS NOT NULL;

-- of ranges and rectangles nothing is unpacked but what is asked for, however much else there is
CREATE FUNCTION unpacked(query text, OUT rows int) LANGUAGE plpgsql AS $$
DECLARE line text; parts text[];
BEGIN
    rows := 0;
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP
        parts := regexp_match(line, 'Function Scan .*rows=([0-9.]+) loops=([0-9]+)');
        rows := rows + coalesce(parts[1]::numeric * parts[2]::int, 0);
    END LOOP;
END $$;
CREATE TABLE leaf AS SELECT id, '[0,8){3:2}'::bins AS ages FROM household;
SELECT dp_create_dataset(name, 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9) FROM unnest('{asked,other}'::text[]) AS name;
SELECT dp_create_dataset(name || ' leaves', 'leaf', '{id}', '{state}', 'household', size_column => 'ages', epsilon_budget => 1e9) FROM unnest('{asked,other}'::text[]) AS name;
SELECT count(dp_range_release('[0,8){3:2}', 1e6, dataset => name, name => 'bins')) AS bins,
       count(dp_grid_release('[0,2)x[0,3){1/2:3}', 1e6, dataset => name, name => 'grid')) AS grids,
       sum((SELECT count(*) FROM dp_region_range_sums(name, 'id', '{"[0,3)","[3,9)"}'::int8range[], 1e6, name => 'sums'))) AS sums,
       sum((SELECT count(*) FROM dp_region_range_release(name || ' leaves', 'ages', '[0,8)', 1e6, name => 'bins'))) AS region_bins
  FROM unnest('{asked,other}'::text[]) AS name;
SELECT view, dataset, release, unpacked(format('SELECT * FROM dp.%I WHERE (dataset, release) = (%L, %L)', view, dataset, release)),
       unpacked(format('SELECT certificate FROM dp.release_certificates WHERE (dataset, release) = (%L, %L)', dataset, release)) AS certified,
       unpacked(format('TABLE dp.%I', view)) AS of_all
  FROM (VALUES ('range_rows', 'asked', 'bins'), ('rectangle_rows', 'asked', 'grid'), ('region_range_rows', 'asked', 'sums'),
               ('region_range_rows', 'asked leaves', 'bins')) AS v (view, dataset, release);

-- a function of the reader's sees no more than the view shows
SELECT dp_create_dataset('secret', 'person', '{id}', '{}', 'household', epsilon_budget => 1);
CREATE ROLE dp_test_reader;
GRANT CREATE ON SCHEMA public TO dp_test_reader;
SET ROLE dp_test_reader;
CREATE FUNCTION leak(value text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN IF value = 'secret' THEN RAISE 'leaked %', value; END IF; RETURN true; END $$;
SELECT count(*) > 0 AS kept FROM dp.release_regions WHERE leak(dataset);
SELECT count(*) > 0 AS kept FROM dp.release_sizes WHERE leak(dataset);
-- and a draft takes none of the time of those who may not see it
RESET ROLE;
CALL dp_set_status('other', 'bins', 'draft');
CALL dp_set_status('other', 'grid', 'draft');
CALL dp_set_status('other', 'sums', 'draft');
CALL dp_set_status('other leaves', 'bins', 'draft');
SET ROLE dp_test_reader;
SELECT view, unpacked(format('SELECT * FROM dp.%I WHERE dataset = ANY (''{other,other leaves}'')', view)) AS of_others, unpacked(format('TABLE dp.%I', view)) AS of_all
  FROM unnest('{range_rows,rectangle_rows,region_range_rows}'::text[]) AS view;

-- a view of one dataset, made by somebody who has no right to it
CALL dp_create_view('census', 'census_sizes');
RESET ROLE;
\d census_sizes
SELECT release, level, level_name, state, county, is_leaf, region, size, groups, entities, size_band, size_band_order
  FROM census_sizes WHERE state = 'A' ORDER BY release, level, region, size;
-- of one release, in another schema, under names that need quotes; read by a role with SELECT on that view alone
CREATE SCHEMA "my bi" AUTHORIZATION dp_test_reader;
CALL dp_create_view('census', '"my bi"."V 1"', release => 'v1');
CREATE ROLE dp_test_dashboard;
GRANT USAGE ON SCHEMA "my bi" TO dp_test_dashboard;
GRANT SELECT ON "my bi"."V 1" TO dp_test_dashboard;
SET ROLE dp_test_dashboard;
SELECT DISTINCT release FROM "my bi"."V 1";
SELECT county, sum(entities) FROM "my bi"."V 1" WHERE level_name = 'county' AND state = 'A' GROUP BY county ORDER BY county;
SELECT count(*) FROM public.census_sizes;
RESET ROLE;
SET search_path = "my bi", public;
CALL dp_create_view('census', 'Here');
SELECT schemaname, viewname, viewowner = current_user AS mine FROM pg_views WHERE viewname IN ('here', 'V 1');
RESET search_path;

-- columns of the hierarchy that are named as others of the view; a hierarchy without columns
CREATE TABLE clash (region text, region_name text, size text, "a ""b'" text, level_name text, level text, n int);
INSERT INTO clash VALUES ('r', 'rn', 's', 'q', 'ln', 'l', 3);
SELECT dp_create_dataset('it''s', 'clash', '{}', '{region,region_name,size,"a \"b''",level_name,level}', size_column => 'n', epsilon_budget => 1e9);
SELECT count(*) FROM dp_hierarchy_release('it''s', 1e6, name => 'the first''s');
CALL dp_create_view('it''s', 'clashes', 'the first''s');
SELECT level, level_name, region_name_name, region_name, size_name, "a ""b'", level_name_name, level_name_name_name, region, size, groups FROM clashes ORDER BY level;
SELECT dp_create_dataset('flat', 'household', '{}', '{}', size_column => 'persons', epsilon_budget => 1e9);
SELECT count(*) FROM dp_hierarchy_release('flat', 1e6, name => 'v1');
CALL dp_create_view('flat', 'flat');
SELECT release, level, level_name, is_leaf, region, size, groups FROM flat ORDER BY size;

-- releases of datasets that had the name one after the other: each name of a level is a column, filled from its place in each of them
CREATE TABLE home (id int PRIMARY KEY, country text NOT NULL, state text NOT NULL, size text NOT NULL);
INSERT INTO home VALUES (1, 'N', 'A', 'big'), (2, 'N', 'B', 'small');
CREATE TABLE tenant AS SELECT id FROM home;
CREATE PROCEDURE declare_anew(hierarchy text[], release text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_drop_dataset(name) FROM dp.datasets WHERE name = 'moved';
    PERFORM dp_create_dataset('moved', 'tenant', '{id}', hierarchy, 'home', epsilon_budget => 1e9);
    COMMIT;
    PERFORM dp_hierarchy_release('moved', 1e6, name => release);
END $$;
SET client_min_messages = warning;
CALL declare_anew('{state}', 'states');
CALL declare_anew('{country}', 'countries');
CALL declare_anew('{country,state}', 'both');
CALL declare_anew('{size,state,country}', 'turned');
CALL declare_anew('{}', 'nothing');
RESET client_min_messages;
CALL dp_create_view('moved', 'moved');
SELECT * FROM moved LIMIT 0;
SELECT release, level, level_name, country, state, size_name, region, groups FROM moved ORDER BY release COLLATE "C", level, region;
-- of one release, its own
CALL dp_create_view('moved', 'moved_states', 'states');
SELECT release, level, state, region FROM moved_states ORDER BY level, region;
CALL dp_create_view('moved', 'moved_turned', 'turned');
SELECT level, size_name, state, country, region FROM moved_turned ORDER BY level, region;
CALL dp_create_view('moved', 'moved_nothing', 'nothing');
SELECT * FROM moved_nothing LIMIT 0;

-- errors
SELECT * FROM error_of($$CALL dp_create_view(NULL, 'v')$$);
SELECT * FROM error_of($$CALL dp_create_view('census', NULL)$$);
SELECT * FROM error_of($$CALL dp_create_view('nowhere', 'v')$$);
SELECT * FROM error_of($$CALL dp_create_view('secret', 'v')$$);
SELECT * FROM error_of($$CALL dp_create_view('census', 'v', 'v3')$$);
SELECT * FROM error_of($$CALL dp_create_view('census', 'a.b.c')$$);
SELECT * FROM error_of($$CALL dp_create_view('census', 'no name')$$);
SELECT * FROM error_of($$CALL dp_create_view('census', '')$$);
SELECT * FROM error_of($$CALL dp_create_view('census', 'census_sizes')$$);
SELECT * FROM error_of($$CALL dp_create_view('census', 'nowhere.v')$$);
SET search_path = '';
SELECT * FROM public.error_of($$CALL public.dp_create_view('census', 'v')$$);
RESET search_path;
SET ROLE dp_test_dashboard;
SELECT * FROM error_of($$CALL dp_create_view('census', '"my bi".mine')$$);
RESET ROLE;

-- what was released from a dataset that is dropped stays, and that is still its name
SELECT dp_drop_dataset('census');
SELECT (SELECT count(*) FROM dp.release_regions WHERE dataset = 'census') AS regions, (SELECT count(*) FROM dp.release_sizes WHERE dataset = 'census') AS sizes,
       (SELECT count(*) FROM census_sizes) AS in_view;

-- every column that users read is explained
SELECT c.relname AS view, a.attname AS unexplained
  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
 WHERE c.relnamespace = 'dp'::regnamespace AND c.relkind = 'v' AND c.relname NOT LIKE 'check\_%' AND has_table_privilege('public', c.oid, 'SELECT') AND col_description(c.oid, a.attnum) IS NULL;
DROP OWNED BY dp_test_reader, dp_test_dashboard CASCADE;
DROP ROLE dp_test_reader, dp_test_dashboard;
