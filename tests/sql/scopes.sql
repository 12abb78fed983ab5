-- Parts of a dataset that share its budget: within and period.
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL, county text NOT NULL);
INSERT INTO household
SELECT i, (ARRAY['CA', 'NY'])[i % 2 + 1], 'county ' || i % 4 FROM generate_series(1, 40) AS i;
CREATE TABLE person (id int, age int, quarter date);
INSERT INTO person SELECT i % 40 + 1, i % 90, date '2026-01-01' + 90 * (i % 4) FROM generate_series(1, 800) AS i;
SELECT dp_create_dataset('census', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 2,
                         period_column => 'quarter');
SELECT dp_create_dataset('ample', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 1e6,
                         period_column => 'quarter');
CREATE FUNCTION spent(dataset text) RETURNS numeric LANGUAGE sql RETURN (SELECT epsilon_spent FROM dp_budget(dataset));

-- two states cost what one costs
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 0.5, within => '{NY}');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 0.5, within => '{CA}');
SELECT spent('census');
-- a state and one of its counties add up, and so does the whole
SELECT sum IS NOT NULL AS released FROM dp_range_sums('census', 'age', '{"[0,18)"}', 0.25, within => '{CA,"county 2"}');
SELECT spent('census');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 0.5);
SELECT spent('census');
SELECT * FROM dp_budget_cells('census');
SELECT epsilon, within, period FROM dp.ledger WHERE dataset = 'census' ORDER BY id;
-- where too much is asked for, nothing is spent
SELECT dp_hierarchy_release('census', 0.8, within => '{CA}');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 0.8, within => '{CA,"county 0"}');
SELECT dp_hierarchy_release('census', 0.8);
SELECT spent('census');
SELECT whole, problem FROM dp_verify_ledger();

-- periods: quarters cost what one costs, overlapping ones add up
SELECT dp_create_dataset('quarters', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 2,
                         period_column => 'quarter');
SELECT bool_and(sum IS NOT NULL) AS released
  FROM unnest('{"[2026-01-01,2026-04-01)","[2026-04-01,2026-07-01)","[2026-07-01,2026-10-01)"}'::text[]) AS q,
       dp_range_sums('quarters', 'age', '{"[0,18)"}', 1 + 0 * length(q), period => q);
SELECT spent('quarters');
SELECT sum IS NOT NULL AS released
  FROM dp_range_sums('quarters', 'age', '{"[0,18)"}', 0.5, within => '{NY}', period => '[2026-03-01,2026-05-01)');
SELECT within, period, epsilon_spent, epsilon_left, releases, picture FROM dp_budget_cells('quarters');
SELECT sum IS NOT NULL AS released FROM dp_range_sums('quarters', 'age', '{"[0,18)"}', 0.75, period => '[2026-06-01,)', within => '{NY}');
SELECT dp_range_sums('quarters', 'age', '{"[0,18)"}', 0.75, period => '[2026-04-01,)', within => '{NY}');
SELECT whole, problem FROM dp_verify_ledger();

-- what is read is the part alone
SELECT level, path, size * groups AS entities
  FROM dp_hierarchy_release('ample', 1000, within => '{NY}', consistency => 'bottom_up') WHERE level < 2;
SELECT sum(size * groups) AS entities
  FROM dp_hierarchy_release('ample', 1000, within => '{NY}', period => '[2026-01-01,2026-03-01)') WHERE level = 2;
SELECT count(*) FROM person JOIN household USING (id) WHERE state = 'NY' AND quarter < '2026-03-01';
SELECT path, sum(size * groups) AS entities FROM dp_hierarchy_release('ample', 1000, within => '{NY,"county 1"}') GROUP BY path;
SELECT round(sum) AS sum FROM dp_range_sums('ample', 'age', '{"[0,18)"}', 1000, within => '{NY}', period => '[,2026-03-01)');
SELECT count(*) FROM person JOIN household USING (id) WHERE state = 'NY' AND quarter < '2026-03-01' AND age < 18;
SELECT round(sum) AS sum
  FROM dp_range_sums('ample', 'quarter', '{"[2026-01-01,2026-04-01)"}'::daterange[], '1 day', 1000, within => '{CA}');

-- so with rectangles, and with the ranges of each region
SELECT round(sum) AS sum
  FROM dp_rectangle_sums('ample', 'age', 'id', '{"[0,18)","[18,90)"}', '{"[1,41)","[1,21)"}', 1000, within => '{NY}', period => '[,2026-03-01)');
SELECT count(*) FILTER (WHERE age < 18) AS first, count(*) FILTER (WHERE age >= 18 AND id <= 20) AS second
  FROM person JOIN household USING (id) WHERE state = 'NY' AND quarter < '2026-03-01';
SELECT level, path, round(sum) AS sum
  FROM dp_region_range_sums('ample', 'age', '{"[0,18)"}', 1000, within => '{NY}', period => '[,2026-03-01)', budget_shares => '{0.5,0.5}');
SELECT county, count(*) FROM person JOIN household USING (id)
 WHERE state = 'NY' AND quarter < '2026-03-01' AND age < 18 GROUP BY ROLLUP (county) ORDER BY county NULLS FIRST;
SELECT level, path, round(sum) AS sum
  FROM dp_region_range_sums('ample', 'quarter', '{"[2026-01-01,2026-07-01)"}'::daterange[], '1 day', 1000, within => '{CA,"county 2"}');
SELECT count(*) FROM person JOIN household USING (id) WHERE county = 'county 2' AND quarter < '2026-07-01';
SELECT dp_create_dataset('kinds', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 2, period_column => 'quarter');
SELECT count(*) FROM dp_region_range_sums('kinds', 'age', '{"[0,18)"}', 1, within => '{NY}', period => '[2026-01-01,2026-04-01)', name => 'NY');
SELECT count(*) FROM dp_region_range_sums('kinds', 'age', '{"[0,18)"}', 1, within => '{NY}', period => '[2026-01-01,2026-04-01)', name => 'NY');
SELECT dp_region_range_sums('kinds', 'age', '{"[0,18)"}', 1, within => '{CA}', period => '[2026-01-01,2026-04-01)', name => 'NY');
SELECT count(*) FROM dp_rectangle_sums('kinds', 'age', 'id', '{"[0,18)"}', '{"[1,21)"}', 1.5, within => '{CA}', name => 'CA');
SELECT dp_rectangle_sums('kinds', 'age', 'id', '{"[0,18)"}', '{"[1,21)"}', 1.5, within => '{CA}', period => '[2026-01-01,)', name => 'CA');
SELECT dp_rectangle_sums('kinds', 'age', 'id', '{"[0,18)"}', '{"[1,21)"}', 1.5, within => '{NY}');
SELECT count(*) FROM dp_rectangle_sums('kinds', 'age', 'id', '{"[0,18)"}', '{"[1,21)"}', 1.5, within => '{NY}', period => '[2026-04-01,)');
SELECT dp_region_range_sums('kinds', 'age', '{"[0,18)"}', 1);
SELECT spent('kinds');
SELECT function, epsilon, within, period FROM dp.ledger WHERE dataset = 'kinds' ORDER BY id;
SELECT level, path, lower_bound, upper_bound FROM dp.region_range_rows WHERE dataset = 'kinds' ORDER BY level, path, lower_bound;
CALL dp_publish('ranges', '[{"dataset": "ample", "function": "dp_region_range_sums", "value_column": "age", "ranges": ["[0,18)"],
                             "epsilon": 1, "within": ["NY"], "name": "of regions"},
                            {"dataset": "ample", "function": "dp_rectangle_sums", "row_column": "age", "column_column": "id",
                             "row_ranges": ["[0,18)"], "column_ranges": ["[1,21)"], "epsilon": 1, "period": "[2026-01-01,)", "name": "of two"}]');
SELECT function, within, period FROM dp.ledger WHERE dataset = 'ample' ORDER BY id DESC LIMIT 2;

-- a name is served with the same part alone; error bars are those of the part
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('ample', 1, within => '{NY}', name => 'NY');
SELECT count(*) > 0 AS served FROM dp_hierarchy_release('ample', 1, within => '{NY}', name => 'NY');
SELECT dp_hierarchy_release('ample', 1, within => '{CA}', name => 'NY');
SELECT level, level_name, region, parent, is_leaf FROM dp.release_regions WHERE release = 'NY';
SELECT count(DISTINCT path) FROM dp_hierarchy_intervals('ample', 'NY');
SELECT dp_certificate('ample', 'NY') #> '{mechanism,within}' AS within;
SELECT l.dataset, substring(dp_certificate_text(l.dataset, l.name) FROM 'Rows of[^\n]*') AS rows_of
  FROM (VALUES ('ample', 'NY'), ('kinds', 'NY'), ('ample', 'of two'), ('kinds', 'CA')) AS l (dataset, name);
SELECT DISTINCT obtained FROM dp_explain_hierarchy('ample', 1, '{Hc}', '{matching}', release => 'NY', simulations => 2);
CALL dp_publish('states', '[{"dataset": "ample", "epsilon": 1, "within": ["NY"], "name": "n"},
                            {"dataset": "ample", "epsilon": 1, "within": ["CA"], "name": "c"}]');
SELECT dataset, epsilon, already_stored, problem
  FROM dp_publish_check('more', '[{"dataset": "census", "epsilon": 0.5, "within": ["NY"], "name": "a"},
                                  {"dataset": "census", "epsilon": 0.8, "within": ["CA"], "name": "b"},
                                  {"dataset": "census", "epsilon": 0.5, "within": ["NY"], "name": "c"}]');

-- a group that moves takes its charges along: what was charged before counts everywhere
SELECT dp_create_dataset('moves', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 2,
                         period_column => 'quarter');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('moves', 1, within => '{NY}', period => '[2026-01-01,2026-03-01)');
UPDATE household SET state = 'CA' WHERE id = 1;
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('moves', 0.75, within => '{CA}', period => '[2026-01-01,2026-03-01)');
SELECT spent('moves');
SELECT dp_hierarchy_release('moves', 0.5, within => '{CA}');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('moves', 1.5, within => '{CA}', period => '[2026-03-01,)');
SELECT whole, problem FROM dp_verify_ledger();
UPDATE household SET state = 'NY' WHERE id = 1;

-- without a table of groups: which regions there are, or groups in a period, is told by private rows
CREATE TABLE resident (id int, state text, age int, since date);
INSERT INTO resident SELECT i % 50, (ARRAY['CA', 'NY', NULL])[i % 3 + 1], i % 90, date '2026-01-01' + i % 2 FROM generate_series(1, 600) AS i;
SELECT dp_create_dataset('residents', 'resident', '{id,state}', '{state}', epsilon_budget => 1e4, period_column => 'since');
SELECT dp_hierarchy_release('residents', 1000, within => '{NY}');
SELECT dp_range_sums('residents', 'age', '{"[0,)"}', 1000, bounds => '[0,100)', within => '{CA}');
SELECT dp_hierarchy_release('residents', 1, period => '[2026-01-01,2026-01-02)');
SELECT round(sum) AS sum FROM dp_range_sums('residents', 'age', '{"[0,)"}', 1000, bounds => '[0,100)', period => '[2026-01-01,2026-01-02)');
SELECT spent('residents');

-- any two groups that change places are noticed
SELECT dp_create_dataset('swaps', 'person', '{id}', '{state}', 'household', epsilon_budget => 1000);
SELECT count(*) > 0 AS released FROM dp_range_sums('swaps', 'age', '{"[0,18)"}', 0.125, within => '{CA}');
SET client_min_messages = warning;
DO $$
BEGIN
    FOR other IN 2 .. 40 LOOP
        UPDATE household SET state = CASE state WHEN 'CA' THEN 'NY' ELSE 'CA' END WHERE id IN (1, other) AND other % 2 = 0;
        PERFORM * FROM dp_range_sums('swaps', 'age', '{"[0,18)"}', 0.125, within => '{CA}');
        UPDATE household SET state = CASE state WHEN 'CA' THEN 'NY' ELSE 'CA' END WHERE id IN (1, other) AND other % 2 = 0;
    END LOOP;
END $$;
RESET client_min_messages;
SELECT spent('swaps'), (SELECT count(DISTINCT regions) FROM dp.scope WHERE dataset = (SELECT id FROM dp.dataset WHERE name = 'swaps')) AS assignments;

-- units can have rows in several parts: each charge counts everywhere
SELECT dp_create_dataset('units', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 2,
                         privacy_unit => 'age', max_rows_per_unit => 5);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('units', 0.5, within => '{NY}');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('units', 0.5, within => '{CA}');
SELECT spent('units');
SELECT epsilon, within FROM dp.ledger WHERE dataset = 'units' ORDER BY id;

-- a role without a limit could ask as often as there are parts
CREATE ROLE dp_test_reader;
SELECT dp_grant('ample', 'dp_test_reader', require_name => false);
SET ROLE dp_test_reader;
SELECT dp_hierarchy_release('ample', 500, within => '{NY}');
RESET ROLE;
SELECT dp_grant('ample', 'dp_test_reader', 1000, require_name => false);
SET ROLE dp_test_reader;
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('ample', 500, within => '{NY}');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('ample', 500, within => '{CA}');
SELECT dp_hierarchy_release('ample', 500, within => '{CA}');
RESET ROLE;
DROP OWNED BY dp_test_reader;
SELECT dp_revoke('ample', 'dp_test_reader');
DROP ROLE dp_test_reader;

-- errors
SELECT dp_hierarchy_release('ample', 1, within => '{Ohio}');
SELECT dp_range_sums('ample', 'age', '{"[0,18)"}', 1, within => '{Ohio}');
SELECT dp_rectangle_sums('ample', 'age', 'id', '{"[0,18)"}', '{"[1,21)"}', 1, within => '{Ohio}');
SELECT dp_region_range_sums('ample', 'age', '{"[0,18)"}', 1, within => '{NY,"county 0"}');
SELECT dp_region_range_sums('ample', 'age', '{"[0,18)"}', 1, within => '{NY}', budget_shares => '{0.2,0.3,0.5}');
SELECT dp_rectangle_sums('residents', 'age', 'id', '{"[0,18)"}', '{"[1,21)"}', 1, within => '{NY}');
SELECT dp_rectangle_sums('swaps', 'age', 'id', '{"[0,18)"}', '{"[1,21)"}', 1, period => '[2026-01-01,)');
SELECT dp_hierarchy_release('ample', 1, within => '{NY,"county 1",x}');
SELECT dp_hierarchy_release('ample', 1, within => NULL);
SELECT dp_hierarchy_release('ample', 1, within => '{NULL}');
SELECT dp_hierarchy_release('ample', 1, period => 'empty');
SELECT dp_hierarchy_release('ample', 1, period => 'first');
SELECT dp_hierarchy_release('ample', 1, period => '[1,5)');
SELECT dp_hierarchy_release('ample', 1, period => '[2026-04-01,2026-01-01)');
SELECT dp_create_dataset('flat', 'person', '{id}', '{}', 'household', epsilon_budget => 1);
SELECT dp_hierarchy_release('flat', 1, within => '{NY}');
SELECT dp_create_dataset('whole', 'person', '{id}', '{state}', 'household', epsilon_budget => 1);
SELECT dp_hierarchy_release('whole', 1, period => '[2026-01-01,)');
SELECT dp_create_dataset('wrong', 'person', '{id}', '{state}', 'household', epsilon_budget => 1, period_column => 'when');
SELECT dp_create_dataset('wrong', 'household', '{id}', '{}', epsilon_budget => 1, period_column => 'state');
SELECT dp_create_dataset('sizes', 'resident', '{}', '{state}', size_column => 'age', epsilon_budget => 1);
SELECT dp_hierarchy_release('sizes', 1, within => '{NY}');
CREATE MATERIALIZED VIEW persons AS TABLE person;
SELECT dp_create_dataset('view', 'persons', '{id}', '{state}', 'household', epsilon_budget => 1);
SELECT dp_hierarchy_release('view', 1, within => '{NY}');
SELECT period_column FROM dp.datasets WHERE name = 'census';

-- a column of periods that is not what was declared, whatever its owner has confirmed
ALTER TABLE resident ALTER since TYPE timestamp;
SELECT dp_confirm_dataset('residents');
SELECT dp_range_sums('residents', 'age', '{"[0,18)"}', 1, period => '[2026-01-01,2026-01-02)');
ALTER TABLE resident RENAME since TO until;
SELECT dp_confirm_dataset('residents');
SELECT dp_range_sums('residents', 'age', '{"[0,18)"}', 1, period => '[2026-01-01,2026-01-02)');
SELECT count(*) FROM dp_range_sums('residents', 'age', '{"[0,18)"}', 1);
