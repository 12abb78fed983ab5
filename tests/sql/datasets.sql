-- dp_create_dataset, dp_drop_dataset, dp_budget and what they refuse.
CREATE TABLE person (id int PRIMARY KEY, household int, "Age" int);
CREATE TABLE household (household int PRIMARY KEY, state text, county text);
INSERT INTO household VALUES (1, 'A', 'x'), (2, 'A', 'y'), (3, 'B', 'x');
INSERT INTO person VALUES (1, 1, 30), (2, 1, 31), (3, 3, 70);
SELECT dp_create_dataset('census', 'person', '{household}', '{state,county}', groups => 'household',
                         epsilon_budget => 1.0, delta_budget => 1e-9);
SELECT name, owner, entities, groups, group_key, hierarchy, size_column, epsilon_budget, epsilon_spent, delta_budget
  FROM dp.datasets;
SELECT epsilon_budget, epsilon_spent, epsilon_left, delta_budget, delta_spent, releases, epsilon_sum FROM dp_budget('census');

-- ten charges of 0.1 fill a budget of 1, exactly; the eleventh spends nothing
SELECT count(DISTINCT path) AS regions FROM generate_series(1, 10) AS i, dp_hierarchy_release('census', 0.1 + 0 * i) WHERE i > 0;
SELECT epsilon_budget, epsilon_spent, epsilon_left, delta_budget, delta_spent, releases, epsilon_sum FROM dp_budget('census');
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 0.1)$$);
SELECT * FROM error_of($$SELECT dp_coco_histogram('{1:1}'::coco, 1e-3, dataset => 'census')$$);
SELECT epsilon_left, releases FROM dp_budget('census');
SELECT id, who, dataset, function, epsilon, delta, parameters->'levels'->0->>'estimator' AS estimator FROM dp.ledger WHERE id IN (1, 10) ORDER BY id;

-- a dropped dataset keeps its ledger, and its name is free again
SELECT * FROM error_of($$SELECT dp_create_dataset('census', 'person', '{household}', '{}', epsilon_budget => 1)$$);
SELECT dp_drop_dataset('census');
SELECT count(*) AS charges, sum(epsilon) AS spent FROM dp.ledger WHERE dataset = 'census';
SELECT * FROM error_of($$SELECT dp_budget('census')$$);
SELECT * FROM error_of($$SELECT dp_drop_dataset('census')$$);
SELECT dp_create_dataset('census', 'person', '{household}', '{state,county}', 'household', NULL, 2.5);
SELECT epsilon_budget, epsilon_spent, epsilon_left, delta_budget, delta_spent, releases, epsilon_sum FROM dp_budget('census');

-- what is refused, with its reason
CREATE VIEW adults AS SELECT * FROM person WHERE "Age" > 17;
CREATE TEMP TABLE visitor (household int);
CREATE TABLE guarded (household int); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE TABLE twice (household int, state text, county text);
INSERT INTO twice VALUES (1, 'A', 'x'), (1, 'B', 'x');
CREATE TABLE incomplete (household int, state text); INSERT INTO incomplete VALUES (1, NULL);
CREATE TABLE other_type (household text PRIMARY KEY, state text);
CREATE TABLE moved (household int, state text); INSERT INTO moved VALUES (1, 'A'), (1, 'B');
CREATE TABLE sized (household int, state text, n numeric);
SELECT e.* FROM (VALUES
    ('NULL, ''person'', ''{household}'', ''{}'', epsilon_budget => 1'),
    (''' '', ''person'', ''{household}'', ''{}'', epsilon_budget => 1'),
    ('''d'', NULL, ''{household}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''nowhere'', ''{household}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''person'', NULL, ''{}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{NULL}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{house}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{ctid}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{"household; DROP TABLE person"}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{household,household}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{household}'', NULL, epsilon_budget => 1'),
    ('''d'', ''person'', ''{household}'', ''{state}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{household}'', ''{age}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{household}'', ''{a,b,c,d,e,f,g,h,i,j}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{household}'', ''{}'''),
    ('''d'', ''person'', ''{household}'', ''{}'', epsilon_budget => 0'),
    ('''d'', ''person'', ''{household}'', ''{}'', epsilon_budget => ''NaN'''),
    ('''d'', ''person'', ''{household}'', ''{}'', epsilon_budget => ''Infinity'''),
    ('''d'', ''person'', ''{household}'', ''{}'', epsilon_budget => 1, delta_budget => 1'),
    ('''d'', ''person'', ''{household}'', ''{}'', epsilon_budget => 1, delta_budget => -1e-9'),
    ('''d'', ''adults'', ''{household}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''visitor'', ''{household}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''guarded'', ''{household}'', ''{}'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{household}'', ''{state}'', ''twice'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{household}'', ''{state}'', ''incomplete'', epsilon_budget => 1'),
    ('''d'', ''person'', ''{household}'', ''{state}'', ''other_type'', epsilon_budget => 1'),
    ('''d'', ''moved'', ''{household}'', ''{state}'', epsilon_budget => 1'),
    ('''d'', ''sized'', ''{household}'', ''{state}'', size_column => ''n'', epsilon_budget => 1'),
    ('''d'', ''sized'', ''{household}'', ''{state}'', size_column => ''size'', epsilon_budget => 1'))
    AS bad(arguments), error_of(format('SELECT dp_create_dataset(%s)', arguments)) AS e;
SELECT name FROM dp.datasets;
SELECT e.* FROM (VALUES ('4294967295'), ('''person'', groups => 4294967294')) AS bad(tables),
    error_of(format('SELECT dp_create_dataset(''d'', %s, group_key => ''{household}'', hierarchy => ''{}'', epsilon_budget => 1)', tables)) AS e;

-- nobody but the owner uses a dataset, and nobody writes the catalog
CREATE ROLE dp_test_stranger;
GRANT SELECT ON person TO dp_test_stranger;
SET ROLE dp_test_stranger;
SELECT count(*) FROM dp.datasets;
SELECT count(*) FROM dp.ledger;
SELECT e.code, e.message FROM (VALUES
    ('SELECT dp_hierarchy_release(''census'', 1)'),
    ('SELECT dp_coco_histogram(''{}''::coco, 1, dataset => ''census'')'),
    ('SELECT dp_budget(''census'')'),
    ('SELECT dp_drop_dataset(''census'')'),
    ('SELECT dp_create_dataset(''mine'', ''household'', ''{household}'', ''{}'', epsilon_budget => 1)'),
    ('UPDATE dp.dataset SET epsilon_sum = 0'),
    ('DELETE FROM dp.charge'),
    ('DELETE FROM dp.ledger'),
    ('SELECT * FROM dp.dataset'),
    ('CREATE TABLE dp.mine ()')) AS tried(statement), error_of(statement) AS e;
-- who may read a table may declare and release it, as the owner of that dataset
SELECT dp_create_dataset('theirs', 'person', '{household}', '{}', epsilon_budget => 1);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('theirs', 0.5);
SELECT dataset, who, epsilon FROM dp.ledger;
RESET ROLE;
REVOKE SELECT ON person FROM dp_test_stranger;
SET ROLE dp_test_stranger;
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('theirs', 0.1)$$);
RESET ROLE;
-- a superuser may use every dataset; the tables are read with the owner's rights all the same
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('theirs', 0.1)$$);
DROP OWNED BY dp_test_stranger;
DROP ROLE dp_test_stranger;

-- a table that is gone
DROP TABLE moved; CREATE TABLE moved (household int);
SELECT dp_create_dataset('gone', 'moved', '{household}', '{}', epsilon_budget => 1);
DROP TABLE moved;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('gone', 0.1)$$);
