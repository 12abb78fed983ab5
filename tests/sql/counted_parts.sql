-- Parts of what was counted elsewhere, and of streams: within and period charge what was declared, and nothing of other parts
-- is in the release.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL, county text NOT NULL);
INSERT INTO household SELECT i, (ARRAY['CA', 'NY'])[i % 2 + 1], 'county ' || i % 4 FROM generate_series(1, 40) AS i;
CREATE TABLE person (id int, age int, quarter date, arrived date);
INSERT INTO person SELECT i % 40 + 1, i % 90, date '2026-01-01' + 90 * (i % 4), date '2020-01-01' + i % 7 FROM generate_series(1, 800) AS i;
CREATE FUNCTION spent(dataset text) RETURNS numeric LANGUAGE sql RETURN (SELECT epsilon_spent FROM dp_budget(dataset));
CREATE VIEW charged AS SELECT dataset, function, epsilon, within, period FROM dp.ledger ORDER BY id;

-- bins by region: rows of a household's bins, in each quarter
CREATE TABLE counted AS SELECT id, quarter, bins_agg(age, 0, 100) AS ages FROM person GROUP BY id, quarter;
SELECT dp_create_dataset('ages', 'counted', '{id}', '{state,county}', 'household', size_column => 'ages', epsilon_budget => 2,
                         period_column => 'quarter');
SELECT dp_create_dataset('ample', 'counted', '{id}', '{state,county}', 'household', size_column => 'ages', epsilon_budget => 1e6,
                         period_column => 'quarter');
SELECT level, path FROM dp_region_range_release('ages', 'ages', '[0,100)', 1.5, within => '{NY}');
SELECT count(*) FROM dp_region_range_release('ages', 'ages', '[0,100)', 1.5, within => '{CA}', period => '[2026-01-01,2026-03-01)', name => 'CA');
SELECT count(*) FROM dp_region_range_release('ages', 'ages', '[0,100)', 1.5, within => '{CA}', period => '[2026-04-01,)');
SELECT spent('ages');
SELECT dp_region_range_release('ages', 'ages', '[0,100)', 1, within => '{CA}');
SELECT count(*) FROM dp_region_range_release('ages', 'ages', '[0,100)', 0.5);
SELECT spent('ages');
SELECT * FROM charged WHERE dataset = 'ages';
-- a name is of its part
SELECT count(*) FROM dp_region_range_release('ages', 'ages', '[0,100)', 1.5, within => '{CA}', period => '[2026-01-01,2026-03-01)', name => 'CA');
SELECT dp_region_range_release('ages', 'ages', '[0,100)', 1.5, within => '{NY}', period => '[2026-01-01,2026-03-01)', name => 'CA');
-- what is read is the part alone
SELECT path, round(dp_range_sum(ranges, '[0,18)')) AS young
  FROM dp_region_range_release('ample', 'ages', '[0,100)', 10000, within => '{NY}', period => '[,2026-03-01)', budget_shares => '{0.5,0.5}');
SELECT county, count(*) FROM person JOIN household USING (id)
 WHERE state = 'NY' AND quarter < '2026-03-01' AND age < 18 GROUP BY ROLLUP (county) ORDER BY county NULLS FIRST;
SELECT path, round(dp_range_sum(ranges, '[0,100)')) AS all FROM dp_region_range_release('ample', 'ages', '[0,100)', 1000, within => '{CA,"county 2"}');
CALL dp_publish('ages', '[{"dataset": "ample", "function": "dp_region_range_release", "bins_column": "ages", "bounds": "[0,100)",
                           "epsilon": 1, "within": ["NY"], "name": "of NY"}]');
SELECT * FROM charged WHERE dataset = 'ample' ORDER BY epsilon LIMIT 1;
-- and sizes that were counted by household and quarter
CREATE TABLE sizes AS SELECT id, quarter, count(*) AS size FROM person GROUP BY id, quarter;
SELECT dp_create_dataset('sizes', 'sizes', '{id}', '{state,county}', 'household', size_column => 'size', epsilon_budget => 1e6,
                         period_column => 'quarter');
SELECT sum(size * groups) AS entities, sum(groups) AS groups
  FROM dp_hierarchy_release('sizes', 1000, within => '{NY}', period => '[2026-01-01,2026-03-01)') WHERE level = 2;
SELECT count(*), count(DISTINCT id) FROM person JOIN household USING (id) WHERE state = 'NY' AND quarter < '2026-03-01';
SELECT count(*) FROM household WHERE state = 'NY';

-- what the caller has counted is charged to the part that the caller names
SELECT dp_create_dataset('census', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 2, period_column => 'quarter');
CREATE FUNCTION bins_of(which text) RETURNS bins LANGUAGE sql
RETURN (SELECT bins_agg(age, 0, 100) FROM person JOIN household USING (id) WHERE state = which);
SELECT dp_range_release(bins_of('NY'), 1, dataset => 'census', within => '{NY}') IS NOT NULL AS released;
SELECT dp_range_release(bins_of('CA'), 1, dataset => 'census', within => '{CA}', name => 'CA') IS NOT NULL AS released;
SELECT dp_range_release(bins_of('CA'), 1, dataset => 'census', within => '{CA}', name => 'CA') IS NOT NULL AS served;
SELECT dp_range_release(bins_of('CA'), 1, dataset => 'census', name => 'CA');
SELECT dp_grid_release((SELECT grid_agg(age, id, '[0,100)', '[0,50)') FROM person JOIN household USING (id)
                         WHERE county = 'county 2' AND quarter >= '2026-03-01'), 0.5, dataset => 'census', within => '{CA,"county 2"}',
                       period => '[2026-03-01,)') IS NOT NULL AS released;
SELECT dp_coco_histogram((SELECT coco_agg(size) FROM (SELECT count(p.id) AS size
                            FROM household LEFT JOIN person AS p USING (id) WHERE county = 'county 2' GROUP BY household.id) AS s),
                         0.25, 100, dataset => 'census', within => '{CA,"county 2"}') IS NOT NULL AS released;
SELECT spent('census');
SELECT within, period, epsilon_spent FROM dp_budget_cells('census');
SELECT dp_range_release(bins_of('CA'), 0.5, dataset => 'census', within => '{CA}') IS NOT NULL AS released;
SELECT dp_range_release(bins_of('CA'), 0.5, dataset => 'census') IS NOT NULL AS released;
SELECT * FROM charged WHERE dataset = 'census';
-- groups that moved while the statement counts: nobody knows what was counted
CREATE FUNCTION move() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    moved_to text;
BEGIN
    UPDATE household SET state = CASE state WHEN 'CA' THEN 'NY' ELSE 'CA' END WHERE id = 1 RETURNING state INTO moved_to;
    RETURN moved_to;
END $$;
SELECT dp_range_release(b.b, 0.1, dataset => 'census', within => '{CA}') IS NOT NULL FROM (SELECT bins_of('CA') AS b, move() OFFSET 0) AS b;
SELECT dp_range_release(bins_of('CA'), 0.1, dataset => 'census', within => '{CA}') IS NOT NULL AS released;
SELECT spent('census'), whole, problem FROM dp_verify_ledger();

-- streams keep their part, which is charged once
SELECT dp_create_dataset('visits', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 2000, period_column => 'quarter');
SELECT dp_stream_create('visits', 'NY', 'arrived', date '2020-01-01', '1 day', 5, 1000, within => '{NY}');
SELECT dp_stream_create('visits', 'CA', 'arrived', date '2020-01-01', '1 day', 5, 1000, within => '{CA}', period => '[2026-01-01,2026-03-01)');
SELECT dp_stream_create('visits', 'CA', 'arrived', date '2020-01-01', '1 day', 5, 1000, within => '{CA}', period => '[2026-01-01,2026-03-01)');
SELECT dp_stream_create('visits', 'CA', 'arrived', date '2020-01-01', '1 day', 5, 1000, within => '{CA}');
SELECT spent('visits');
SELECT * FROM charged WHERE dataset = 'visits';
CREATE FUNCTION ticked(stream text) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(round(count)::bigint::text, ' ' ORDER BY tick) FROM dp_stream_tick('visits', stream));
CREATE FUNCTION truth(which text, until date) RETURNS text LANGUAGE sql RETURN (
    SELECT string_agg(n::text, ' ' ORDER BY arrived)
      FROM (SELECT arrived, count(*) FROM person JOIN household USING (id)
             WHERE state = which AND quarter < until AND arrived < '2020-01-06' GROUP BY arrived) AS c (arrived, n));
SELECT ticked('CA') = truth('CA', '2026-03-01') AS exact;
-- a group that moved would be counted in both: the stream goes on when it is back
SELECT move() IS NOT NULL AS moved;
SELECT ticked('NY');
SELECT dp_stream_confirm('visits', 'NY', 0);
SELECT ticked('NY');
SELECT move() IS NOT NULL AS moved;
SELECT ticked('NY') = truth('NY', 'infinity') AS exact;
SELECT parameters ->> 'within' AS within, parameters ->> 'period' AS period FROM dp.releases WHERE dataset = 'visits' ORDER BY name;
SELECT spent('visits'), whole, problem FROM dp_verify_ledger();

-- neighbours, with noise that is none: a row of another region or period, or of no group, is in no release of the part; one of
-- the part is
SELECT dp_create_dataset('rows', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 1e9, period_column => 'quarter');
SELECT dp_create_dataset('bins', 'counted', '{id}', '{state,county}', 'household', size_column => 'ages', epsilon_budget => 1e9,
                         period_column => 'quarter');
CREATE FUNCTION stream_of(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_stream_create('rows', name, 'arrived', date '2020-01-01', '1 day', 7, 10000, within => '{NY}', period => '[2026-01-01,2026-03-01)');
    RETURN (SELECT string_agg(round(count)::bigint::text, ' ' ORDER BY tick) FROM dp_stream_tick('rows', name));
END $$;
CREATE FUNCTION bins_in_part() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(level || ': ' || round(dp_range_sum(ranges, '[0,18)')), ', ' ORDER BY level, path)
      FROM dp_region_range_release('bins', 'ages', '[0,100)', 10000, within => '{NY}', period => '[2026-01-01,2026-03-01)', budget_shares => '{0.5,0.5}') $$;
CREATE TABLE neighbour (n int, id int, quarter date);
INSERT INTO neighbour VALUES (1, 2, '2026-01-01'), (2, 1, '2026-04-01'), (3, 1, '2026-03-01'), (4, 1, NULL), (5, 99, '2026-01-01'),
    (6, NULL, '2026-01-01'), (7, 1, '2026-01-01'), (8, 1, '2026-02-28');
SELECT stream_of('0') AS ticks, bins_in_part() AS bins;
DO $$
DECLARE
    other neighbour;
    ticks text; bins text;
BEGIN
    FOR other IN TABLE neighbour ORDER BY n LOOP
        BEGIN
            INSERT INTO person VALUES (other.id, 5, other.quarter, '2020-01-03');
            INSERT INTO counted VALUES (other.id, other.quarter, '[0,100){5:1}');
            ticks := stream_of(other.n::text);
            bins := bins_in_part();
            RAISE WARNING '% %: %; %', coalesce(other.id::text, 'NULL'), coalesce(other.quarter::text, 'NULL'), ticks, bins;
            RAISE SQLSTATE 'ZZZZZ'; -- takes the rows back, but no charge
        EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
        END;
    END LOOP;
END $$;
SELECT whole, problem FROM dp_verify_ledger();

-- one histogram of a part is its own root, whose error bars are those of its numbers
SELECT dp_create_dataset('one', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 1e6) \g /dev/null
SELECT dp_coco_histogram('{1:3, 2:5}'::coco, 1e5, dataset => 'one', name => 'NY', within => '{NY}') AS histogram;
SELECT level, path, statistic, value, lower, upper FROM dp_hierarchy_intervals('one', 'NY') WHERE statistic = 'entities';
SELECT label, value FROM dp_plot('one', 'NY') WHERE value > 0;

-- errors
SELECT dp_range_release(bins_of('NY'), 1, within => '{NY}');
SELECT dp_grid_release('[0,2)x[0,2){}', 1, period => '[2026-01-01,)');
SELECT dp_coco_histogram('{1:2}'::coco, 1, within => NULL);
SELECT dp_range_release(bins_of('NY'), 1, dataset => 'census', within => '{Ohio}');
SELECT dp_stream_create('visits', 'Ohio', 'arrived', date '2020-01-01', '1 day', 5, 1, within => '{Ohio}');
SELECT dp_stream_create('visits', 'empty', 'arrived', date '2020-01-01', '1 day', 5, 1, period => 'empty');
CREATE TABLE resident (id int, age int, since date);
INSERT INTO resident SELECT i % 9, i, date '2026-01-01' FROM generate_series(1, 90) AS i;
SELECT dp_create_dataset('residents', 'resident', '{id}', '{}', epsilon_budget => 1, period_column => 'since');
SELECT dp_coco_histogram('{1:2}'::coco, 0.5, dataset => 'residents', period => '[2026-01-01,)');
SELECT dp_coco_histogram('{1:2}'::coco, 0.5, dataset => 'residents', within => '{NY}');
SELECT dp_create_dataset('rows', 'resident', '{}', '{}', size_column => 'age', epsilon_budget => 1, period_column => 'since');
SELECT spent('residents');
