-- groups_private: how many groups there are is private, too. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE county (state text, county text);
INSERT INTO county VALUES ('A', 'x'), ('A', 'y'), ('B', 'x'), ('C', 'z');
CREATE TABLE household (id int PRIMARY KEY, state text, county text);
-- two are empty, one is in a county that is not listed, one in none
INSERT INTO household VALUES (1, 'A', 'x'), (2, 'A', 'x'), (3, 'A', 'y'), (4, 'B', 'x'), (5, 'B', 'x'),
                             (6, 'A', 'unheard of'), (7, 'B', NULL);
CREATE TABLE person (id int, age int);
INSERT INTO person VALUES (1, 30), (1, 31), (3, 70), (4, 5), (4, 6), (4, 7), (6, 1), (7, 1), (99, 1), (NULL, 1);
SELECT dp_create_dataset('census', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 1e9,
                         groups_private => true, regions => 'county');
SELECT name, groups, groups_private, regions FROM dp.datasets;
SELECT * FROM histograms($$dp_hierarchy_release('census', 1e6)$$);

-- whatever is measured
SELECT estimators, consistency, count(*) AS regions
  FROM (VALUES ('H', 'none'), ('Hc', 'matching'), ('Hc', 'bottom_up'), ('Hg', 'matching_unweighted'), ('Hc_l2', 'pgsr'),
               ('H', 'pgsr'), ('H', 'topdown'), ('Hc', 'cumulative'), ('Hc', 'chain'), ('cut', 'matching')) AS way(estimators, consistency),
       histograms(format('dp_hierarchy_release(''census'', 1e6, ARRAY[%L], %L, max_size => 9)', estimators, consistency)) AS released
  JOIN histograms($$dp_hierarchy_release('census', 1e6)$$) AS told USING (path, histogram)
 GROUP BY estimators, consistency ORDER BY estimators, consistency;

-- the charge says what the numbers of groups got
SELECT jsonb_pretty(parameters -> 'groups') AS groups, parameters -> 'first_look' ->> 'epsilon_of_levels' AS of_levels
  FROM dp.ledger ORDER BY id DESC LIMIT 1;
SELECT round(sum((level ->> 'epsilon')::numeric), 6) AS of_groups
  FROM (SELECT parameters FROM dp.ledger ORDER BY id DESC LIMIT 1) AS l, jsonb_array_elements(l.parameters -> 'groups' -> 'levels') AS level;

-- with noise, numbers of groups are off, and add up: that 60 releases have the same is less likely than 1e-15
CREATE TABLE noisy AS SELECT i, path, sum(groups) AS groups
  FROM generate_series(1, 60) AS i, dp_hierarchy_release('census', 1 + 0 * i, max_size => 9) GROUP BY i, path;
SELECT count(DISTINCT coalesce(n.groups, 0)) > 1 AS differ FROM generate_series(1, 60) AS i LEFT JOIN noisy AS n ON n.i = i.i AND path = '{}';
SELECT count(*) AS wrong FROM noisy AS p
 WHERE cardinality(path) < 2
   AND groups <> (SELECT sum(groups) FROM noisy AS c WHERE c.i = p.i AND cardinality(c.path) = cardinality(p.path) + 1
                     AND c.path[:cardinality(p.path)] = p.path);

-- a named release, its views, certificate and error bars; of so many that none is off by half with a probability of 1e-100
CREATE TABLE flat (id int PRIMARY KEY);
INSERT INTO flat SELECT generate_series(1, 4000);
CREATE TABLE resident (id int);
INSERT INTO resident SELECT id FROM flat, generate_series(1, id % 4);
SELECT dp_create_dataset('street', 'resident', '{id}', '{}', 'flat', epsilon_budget => 10, groups_private => true);
SELECT sum(groups) BETWEEN 2000 AND 6000 AS near FROM dp_hierarchy_release('street', 2, max_size => 9, name => 'first');
SELECT r.groups = (SELECT sum(groups) FROM dp.release_rows) AS shown FROM dp.release_regions AS r;
SELECT c -> 'public' AS public, c -> 'unit' AS unit, c -> 'mechanism' ? 'groups' AS groups
  FROM dp_certificate('street', 'first') AS c;
SELECT substring(dp_certificate_text('street', 'first') from 'Hidden[^\n]*') AS hidden;
-- more groups can be true than were released
SELECT max(upper) > max(value) AS wider FROM dp_hierarchy_intervals('street', 'first') WHERE statistic = 'groups_up_to_size';
SELECT count(*) AS explained, bool_and(expected_emd > 0) AS off
  FROM dp_explain_hierarchy('street', 1, release => 'first', max_size => 9, simulations => 3);

-- the groups that occur; their number is that of all that have rows in a listed region
CREATE TABLE trip (taxi text, borough text, driver text);
INSERT INTO trip VALUES ('a', 'Bronx', 'ann'), ('a', 'Bronx', 'bob'), ('b', 'Bronx', 'ann'), ('c', 'Queens', 'ann'),
                        ('d', 'Mars', 'cy'), (NULL, 'Queens', 'cy'), ('e', NULL, 'cy');
CREATE TABLE borough (borough varchar(20));
INSERT INTO borough VALUES ('Bronx'), ('Queens'), ('Queens'), ('Staten Island');
SELECT dp_create_dataset('taxis', 'trip', '{taxi}', '{borough}', epsilon_budget => 1e9, groups_private => true, regions => 'borough');
SELECT * FROM histograms($$dp_hierarchy_release('taxis', 1e6)$$);
SELECT dp_create_dataset('all taxis', 'trip', '{taxi}', '{}', epsilon_budget => 1e9, groups_private => true);
SELECT * FROM histograms($$dp_hierarchy_release('all taxis', 1e6)$$);

-- rows that are groups
CREATE TABLE shop (name text, city text, staff smallint);
INSERT INTO shop VALUES ('Ada', 'Paris', 3), ('Bo', 'Paris', NULL), ('Cy', 'Rome', 5), ('Di', 'Rome', -2), ('Ed', 'Oz', 1), ('Fi', NULL, 1);
CREATE TABLE city (city text);
INSERT INTO city VALUES ('Paris'), ('Rome');
SELECT dp_create_dataset('shops', 'shop', '{}', '{city}', size_column => 'staff', epsilon_budget => 1e9, groups_private => true, regions => 'city');
SELECT * FROM histograms($$dp_hierarchy_release('shops', 1e6, max_size => 4)$$);

-- rows that stand for several entities of a private group, and keys that are compared as numbers
CREATE TABLE team (team numeric PRIMARY KEY, city text);
INSERT INTO team VALUES (1.0, 'Paris'), (2, 'Rome'), (3, 'Rome');
CREATE TABLE member (team numeric, heads int);
INSERT INTO member VALUES (1, 2), (1.00, 3), (2.0, 4), (2, -7), (2, NULL);
SELECT dp_create_dataset('teams', 'member', '{team}', '{city}', 'team', 'heads', epsilon_budget => 1e9, groups_private => true, regions => 'city');
SELECT * FROM histograms($$dp_hierarchy_release('teams', 1e6)$$);

-- people with several rows: as many groups may come and go with each, or one if a person is a group
SELECT dp_create_dataset('drivers', 'trip', '{taxi}', '{borough}', epsilon_budget => 1e9, groups_private => true,
                         regions => 'borough', privacy_unit => 'driver', max_rows_per_unit => 4);
SELECT * FROM histograms($$dp_hierarchy_release('drivers', 1e6)$$);
SELECT dp_create_dataset('trips of drivers', 'trip', '{driver}', '{}', epsilon_budget => 1e9, groups_private => true,
                         privacy_unit => 'driver', max_rows_per_unit => 4);
SELECT * FROM histograms($$dp_hierarchy_release('trips of drivers', 1e6)$$);
SELECT dataset, parameters -> 'groups' -> 'levels' -> 0 -> 'sensitivity' AS of_groups, parameters -> 'levels' -> 0 -> 'sensitivity' AS of_sizes
  FROM dp.ledger WHERE dataset LIKE '%drivers' ORDER BY dataset;

-- of listed groups nobody knows how many are one person's
CREATE TABLE taxi (taxi text PRIMARY KEY, borough text);
SELECT * FROM error_of($$SELECT dp_create_dataset('many teams', 'trip', '{taxi}', '{borough}', 'taxi', epsilon_budget => 1, groups_private => true, regions => 'borough', privacy_unit => 'driver', max_rows_per_unit => 4)$$);
-- a table that is public for one dataset is not filled from another's rows
CREATE TABLE shared AS SELECT *, NULL::coco AS h FROM borough;
SELECT dp_create_dataset('has regions', 'trip', '{taxi}', '{borough}', epsilon_budget => 1, groups_private => true, regions => 'shared');
SELECT * FROM error_of($$SELECT dp_create_dataset('has leaves', 'trip', '{taxi}', '{borough}', epsilon_budget => 1, leaves => 'shared')$$);
SELECT dp_drop_dataset('has regions');

-- other releases see no groups: every row counts
SELECT round(sum) AS trips FROM dp_range_sums('census', 'age', '{"[0,100)"}'::int8range[], 1e6, bounds => '[0,100)');

-- what a group does that appears, with its entity or without, and one that goes: the true numbers, again
INSERT INTO household VALUES (8, 'C', 'z'), (9, 'C', 'z');
INSERT INTO person VALUES (9, 1);
DELETE FROM household WHERE id = 1;
SELECT * FROM histograms($$dp_hierarchy_release('census', 1e6)$$);

-- what would tell the number of groups, or which region has one
SELECT e.* FROM (VALUES
    ($$SELECT dp_hierarchy_release('census', 1, within => '{A}')$$),
    ($$SELECT dp_hierarchy_release('census', 1, period => '[2026-01-01,)')$$),
    ($$SELECT dp_hierarchy_release('census', 1, '{select:Hc|Hg}')$$),
    ($$SELECT dp_hierarchy_release('census', 1, keep_measurements => true, name => 'kept')$$),
    ($$SELECT dp_hierarchy_release('census', 1e-4)$$),
    ($$SELECT dp_coco_histogram('{1:1}'::coco, 1, dataset => 'census')$$),
    ($$SELECT dp_explain_hierarchy('census', 1)$$),
    ($$SELECT dp_explain_hierarchy('census', 1, mean_size => 2)$$),
    ($$SELECT dp_region_range_sums('census', 'age', '{"[0,9)"}'::int8range[], 1)$$),
    ($$SELECT dp_explain_region_ranges('census', 9, 1)$$),
    ($$SELECT dp_leaf_query('census')$$),
    ($$CALL dp_count_leaves('census')$$)) AS bad(statement), error_of(statement) AS e;

-- what cannot be declared
CREATE TABLE listed (id int, state text, county text);
CREATE TABLE of_coco (county text, h coco);
CREATE TABLE holes (state text, county text); INSERT INTO holes VALUES ('A', NULL);
CREATE MATERIALIZED VIEW counties AS SELECT DISTINCT state, county FROM household;
CREATE VIEW seen AS SELECT * FROM county;
SELECT e.* FROM (VALUES
    ($$'person', '{id}', '{state,county}', 'household', groups_private => true$$),
    ($$'person', '{id}', '{state,county}', 'household', regions => 'county'$$),
    ($$'person', '{id}', '{}', groups_private => true, regions => 'county'$$),
    ($$'person', '{id}', '{state,county}', 'household', groups_private => NULL, regions => 'county'$$),
    ($$'person', '{id}', '{state,county}', 'listed', groups_private => true, regions => 'county'$$),
    ($$'person', '{id}', '{state,county}', 'household', groups_private => true, regions => 'city'$$),
    ($$'person', '{id}', '{state,county}', 'household', groups_private => true, regions => 'holes'$$),
    ($$'person', '{id}', '{state,county}', 'household', groups_private => true, regions => 'household'$$),
    ($$'person', '{id}', '{state,county}', 'household', groups_private => true, regions => 'counties'$$),
    ($$'person', '{id}', '{state,county}', 'household', groups_private => true, regions => 'seen'$$),
    ($$'person', '{id}', '{state,county}', 'person', groups_private => true, regions => 'county'$$),
    ($$'person', '{id}', '{state,county}', groups_private => true, regions => 'county'$$),
    ($$'person', '{id}', '{}', groups_private => true, period_column => 'age'$$),
    ($$'person', '{id}', '{}', groups_private => true, leaves => 'of_coco'$$),
    ($$'of_coco', '{}', '{}', size_column => 'h', groups_private => true$$)) AS bad(arguments),
    error_of(format('SELECT dp_create_dataset(''d'', %s, epsilon_budget => 1)', arguments)) AS e;
DROP VIEW seen;

-- tables that change: a key that is unique no more, a column of another type, a table made anew
ALTER TABLE household DROP CONSTRAINT household_pkey;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1)$$);
CREATE UNIQUE INDEX ON household (id);
ALTER TABLE county ALTER COLUMN state TYPE varchar(10);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1)$$);
SELECT dp_confirm_dataset('census');
DROP TABLE county CASCADE;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1)$$);
CREATE TABLE county (state text, county text);
INSERT INTO county VALUES ('C', 'z');
SET client_min_messages = notice;
SELECT dp_confirm_dataset('census');
SET client_min_messages = warning;
SELECT * FROM histograms($$dp_hierarchy_release('census', 1e6)$$);
TRUNCATE county;
SELECT * FROM error_of($$SELECT * FROM dp_hierarchy_release('census', 1e6)$$);

-- who may read the private table of groups learns what is hidden
CREATE ROLE dp_test_curious;
GRANT SELECT ON household, county TO dp_test_curious;
SELECT dataset, hole, object FROM dp_check_privileges('dp_test_curious') WHERE object LIKE '%household%' OR object LIKE '%county%' ORDER BY 1, 2, 3;
REVOKE ALL ON household, county FROM dp_test_curious;
DROP ROLE dp_test_curious;
