-- dp_find_bound: bounds chosen by noisy counts, which 'auto' then means. With an epsilon of 600 there is no noise to speak of.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE clinic (id int PRIMARY KEY, city text NOT NULL);
INSERT INTO clinic SELECT i, 'city ' || i % 2 FROM generate_series(1, 10) AS i;
CREATE TABLE visit (id int, patient text, age int, paid numeric, cents bigint);
-- of 100 patients 60 have one visit, 30 have three, 9 have five or six, and one has 40; ten visits are nobody's
INSERT INTO visit
SELECT 1 + (i + n) % 10, 'p' || i, i % 90, i % 13 + 0.25, i % 13
  FROM generate_series(1, 100) AS i,
       generate_series(1, CASE WHEN i <= 60 THEN 1 WHEN i <= 90 THEN 3 WHEN i < 100 THEN 5 + i % 2 ELSE 40 END) AS n;
INSERT INTO visit SELECT 1, NULL, 30, NULL, NULL FROM generate_series(1, 10);

-- how many rows of a patient
SELECT dp_create_dataset('visits', 'visit', '{id}', '{city}', 'clinic', epsilon_budget => 1e6, privacy_unit => 'patient', max_rows_per_unit => 'auto');
SELECT name, max_rows_per_unit FROM dp.datasets;
-- until it is chosen nothing can be released, explained or counted, and nothing is spent
SELECT e.* FROM (VALUES ($$dp_hierarchy_release('visits', 1)$$), ($$dp_range_sums('visits', 'age', '{"[0,18)"}'::int8range[], 1)$$),
                        ($$dp_region_range_sums('visits', 'age', '{"[0,18)"}'::int8range[], 1)$$), ($$dp_explain_hierarchy('visits', 1)$$),
                        ($$dp_find_bound('visits', 'max_size', 1)$$), ($$dp_leaf_query('visits')$$)) AS bad(call),
    error_of('SELECT * FROM ' || call) AS e;
SELECT releases, epsilon_spent FROM dp_budget('visits');
SELECT candidate, above, round(clipping) AS clipping, noise, chosen FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 1, name => 'rows') LIMIT 12;
SELECT count(*), max(candidate), sum(chosen::int) AS chosen FROM dp.found_bounds;
SELECT name, max_rows_per_unit FROM dp.datasets;
SELECT function, epsilon, delta, round(rho, 6) AS rho, parameters FROM dp.ledger;
-- a name is charged once
SELECT candidate, chosen FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 1, name => 'rows') WHERE chosen;
SELECT releases, epsilon_spent FROM dp_budget('visits');
-- with more for the release more is used; without a name that changes nothing
SET client_min_messages = notice;
SELECT candidate FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 0.1) WHERE chosen;
SET client_min_messages = warning;
SELECT name, max_rows_per_unit FROM dp.datasets;

-- what is released then: 60 + 30 * 3 + 9 * 5 or 6 + 6, with that sensitivity, which ledger and certificate show
SELECT sum(size * groups) AS visits FROM dp_hierarchy_release('visits', 1e4, name => 'first') WHERE level = 0;
SELECT parameters ->> 'max_rows_per_unit' AS most, parameters #>> '{levels,0,sensitivity}' AS sensitivity FROM dp.ledger WHERE function = 'dp_hierarchy_release';
SELECT dp_certificate('visits', 'first') -> 'unit' AS unit;
SELECT path, value FROM dp_hierarchy_intervals('visits', 'first') WHERE level = 0 AND statistic = 'entities';
-- a later search changes what is released from then on, and nothing that is stored
SELECT candidate FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 0.02, name => 'fewer') WHERE chosen;
SELECT name, max_rows_per_unit FROM dp.datasets;
SELECT sum(size * groups) AS visits FROM dp_hierarchy_release('visits', 1e4, name => 'first') WHERE level = 0;
SELECT dp_certificate('visits', 'first') #>> '{unit,max_rows_per_unit}' AS first, dp_certificate('visits', 'fewer') -> 'rows' ->> 'columns' AS columns;
SELECT sum(size * groups) AS visits FROM dp_hierarchy_release('visits', 1e4, name => 'second') WHERE level = 0;
SELECT round(sum) AS visits, round(stddev::numeric, 4) > 0 AS noisy FROM dp_range_sums('visits', 'age', '{"[0,100)"}'::int8range[], 1e4);
-- one that is retracted is taken back
CALL dp_set_status('visits', 'fewer', 'retracted');
SELECT name, max_rows_per_unit FROM dp.datasets;
-- also all of them: what is stored is served, and another release has no bound
CALL dp_set_status('visits', 'rows', 'retracted');
SELECT name, max_rows_per_unit FROM dp.datasets;
SELECT sum(size * groups) AS visits FROM dp_hierarchy_release('visits', 1e4, name => 'first') WHERE level = 0;
SELECT e.code, e.message FROM (VALUES ('third', 1e4), ('first', 1)) AS r (name, epsilon), error_of(format('SELECT dp_hierarchy_release(''visits'', %s, name => %L)', epsilon, name)) AS e;
CALL dp_set_status('visits', 'rows', 'published');
-- what is charged and not stored yet uses as many rows as it was charged for
SELECT round(sum) AS visits FROM dp_range_sums('visits', 'age', '{"[0,100)"}'::int8range[], 1e4, name => 'cancelled');
DELETE FROM dp.release_sum WHERE release = (SELECT id FROM dp.release WHERE name = 'cancelled');
UPDATE dp.release SET released_at = NULL WHERE name = 'cancelled';
CALL dp_set_status('visits', 'fewer', 'published');
SELECT name, max_rows_per_unit FROM dp.datasets;
SELECT releases AS charges FROM dp_budget('visits') \gset
SELECT round(sum) AS visits FROM dp_range_sums('visits', 'age', '{"[0,100)"}'::int8range[], 1e4, name => 'cancelled');
SELECT releases - :charges AS charged FROM dp_budget('visits');
CALL dp_set_status('visits', 'fewer', 'retracted');

-- amounts: of four rows of a patient, in units
SELECT dp_create_dataset('bills', 'visit', '{id}', '{city}', 'clinic', epsilon_budget => 1e6);
SELECT * FROM error_of($$SELECT * FROM dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1, amount => 'paid', max_amount => 'auto', amount_unit => 0.25)$$);
SELECT candidate, above, round(clipping::numeric, 3) AS clipping, noise, chosen FROM dp_find_bound('bills', 'max_amount', 600, amount => 'paid', release_epsilon => 10, amount_unit => 0.25, name => 'paid') WHERE candidate < 20;
SELECT candidate FROM dp_find_bound('bills', 'max_amount', 600, amount => 'cents', release_epsilon => 10, name => 'cents') WHERE chosen;
SELECT release, bound, amount, candidate, kept FROM dp.found_bounds WHERE dataset = 'bills' AND chosen ORDER BY release;
SELECT round(sum::numeric, 1) AS paid FROM dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e4, amount => 'paid', max_amount => 'auto', amount_unit => 0.25, name => 'sum of paid');
SELECT (parameters ->> 'max_amount')::numeric AS most, parameters ->> 'amount' AS amount FROM dp.releases WHERE name = 'sum of paid';
-- a stored one keeps what it was asked for
SELECT candidate FROM dp_find_bound('bills', 'max_amount', 600, amount => 'paid', release_epsilon => 0.01, amount_unit => 0.25, name => 'low') WHERE chosen;
SELECT round(sum::numeric, 1) AS paid FROM dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e4, amount => 'paid', max_amount => 'auto', amount_unit => 0.25, name => 'sum of paid');
SELECT round(sum::numeric, 1) AS paid FROM dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e4, amount => 'paid', max_amount => 'auto', amount_unit => 0.25);
SELECT round(sum::numeric) AS cents FROM dp_region_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e5, amount => 'cents', max_amount => 'auto') WHERE level = 0;
SELECT round(sum::numeric) AS cents FROM dp_rectangle_sums('bills', 'age', 'id', '{"[0,100)"}', '{"[0,20)"}', 1e5, amount => 'cents', max_amount => 'auto');
-- a unit adds as many amounts as it has rows: the sensitivity, and the largest candidate
SELECT max(candidate), count(*) FROM dp_find_bound('visits', 'max_amount', 600, amount => 'cents');
SELECT parameters ->> 'sensitivity' AS sensitivity, parameters ->> 'kept' AS kept FROM dp.ledger WHERE dataset = 'visits' ORDER BY id DESC LIMIT 1;

-- sizes: layers of entities, of all kinds of groups
SELECT * FROM error_of($$SELECT * FROM dp_hierarchy_release('bills', 1, max_size => 'auto')$$);
SELECT code, message FROM error_of($$SELECT * FROM dp_explain_hierarchy('bills', 1, max_size => 'auto')$$);
SELECT candidate, above, round(clipping) AS clipping, round(noise::numeric, 2) AS noise, chosen FROM dp_find_bound('bills', 'max_size', 600, release_epsilon => 1, name => 'size') WHERE candidate BETWEEN 8 AND 50;
SELECT max(size) FROM dp_hierarchy_release('bills', 1e4, max_size => 'auto', name => 'sizes');
SELECT parameters -> 'max_size' AS max_size FROM dp.releases WHERE name = 'sizes';
-- an explanation means the same
SELECT count(*), bool_and(a.expected_emd = n.expected_emd) AS same
  FROM dp_explain_hierarchy('bills', 1, max_size => 'auto', simulations => 2) AS a
  JOIN dp_explain_hierarchy('bills', 1, max_size => (SELECT (parameters ->> 'max_size')::bigint FROM dp.releases WHERE name = 'sizes'), simulations => 2) AS n
 USING (level, estimators, consistency);
CREATE TABLE shop (city text, staff int);
INSERT INTO shop SELECT 'city ' || i % 2, CASE WHEN i < 90 THEN 5 WHEN i < 99 THEN 20 WHEN i = 99 THEN NULL ELSE -3 END FROM generate_series(1, 100) AS i;
CREATE TABLE city (city text);
INSERT INTO city VALUES ('city 0'), ('city 1');
SELECT dp_create_dataset('shops', 'shop', '{}', '{city}', size_column => 'staff', epsilon_budget => 1e6);
SELECT dp_create_dataset('hidden shops', 'shop', '{}', '{city}', size_column => 'staff', epsilon_budget => 1e6, groups_private => true, regions => 'city');
SELECT s.above FROM (VALUES ('shops'), ('hidden shops')) AS d(name), dp_find_bound(d.name, 'max_size', 600) AS s WHERE candidate = 16;

-- groups that come and go with a unit: as many as rows of it are used
SELECT dp_create_dataset('ages', 'visit', '{age}', '{}', epsilon_budget => 1e6, groups_private => true, privacy_unit => 'patient', max_rows_per_unit => 'auto');
SELECT * FROM error_of($$SELECT * FROM dp_hierarchy_release('ages', 1)$$);
SELECT candidate FROM dp_find_bound('ages', 'max_rows_per_unit', 600, release_epsilon => 1, name => 'rows') WHERE chosen;
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('ages', 1e4, max_size => 10, name => 'all');
SELECT dp_certificate('ages', 'all') -> 'unit' AS unit;

-- a role with a grant gets the table, and changes nothing for others
CREATE ROLE dp_test_finder;
SELECT dp_grant('bills', 'dp_test_finder');
SELECT dp_grant('visits', 'dp_test_finder');
SET ROLE dp_test_finder;
SELECT candidate FROM dp_find_bound('bills', 'max_amount', 600, amount => 'paid', release_epsilon => 10, amount_unit => 0.25, name => 'mine') WHERE chosen;
SELECT candidate FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 0.02, name => 'mine') WHERE chosen;
SELECT release, kept FROM dp.found_bounds WHERE chosen AND release = 'mine';
SELECT * FROM error_of($$SELECT * FROM dp_find_bound('bills', 'max_amount', 1, amount => 'paid', amount_unit => 1)$$);
SELECT * FROM error_of('SELECT * FROM dp.release_bound');
SELECT * FROM error_of('SELECT * FROM dp.chosen_bound');
SELECT round(sum::numeric, 1) AS paid FROM dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e4, amount => 'paid', max_amount => 'auto', amount_unit => 0.25, name => 'my sum');
SELECT count(*) > 0 AS explained FROM dp_explain_hierarchy('bills', 1, max_size => 'auto', simulations => 2);
RESET ROLE;
SELECT name, max_rows_per_unit FROM dp.datasets WHERE name = 'visits';
-- and it is never the owner's, who would be served it by its name: not even to be told what that would cost
SET client_min_messages = notice;
SELECT * FROM error_of($$SELECT * FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 0.02, name => 'mine')$$);
CALL dp_publish('mine', '[{"dataset": "visits", "function": "dp_find_bound", "bound": "max_rows_per_unit", "epsilon": 600, "release_epsilon": 0.02}]');
SELECT already_stored, problem FROM dp_publish_check('mine', '[{"dataset": "visits", "function": "dp_find_bound", "bound": "max_rows_per_unit", "epsilon": 600, "release_epsilon": 0.02}]');
-- the role is served its own, and the owner's
SET ROLE dp_test_finder;
SELECT f.candidate FROM (VALUES ('mine', 0.02), ('rows', 1)) AS r (name, epsilon), dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => r.epsilon, name => r.name) AS f WHERE chosen;
RESET ROLE;
SELECT max_rows_per_unit FROM dp.datasets WHERE name = 'visits';
SELECT dp_certificate('visits', 'mine') #>> '{mechanism,kept}' AS kept, dp_certificate('visits', 'rows') #>> '{mechanism,kept}' AS own;
SELECT release, kept FROM dp.found_bounds WHERE chosen AND dataset = 'visits' ORDER BY release;
-- another release of that role the owner is served by its name, and told so: what 'auto' means in it is what it meant
SET client_min_messages = warning;
SELECT round(sum::numeric, 1) AS paid, (SELECT parameters ->> 'max_amount' FROM dp.releases WHERE name = 'my sum') AS most FROM dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e4, amount => 'paid', max_amount => 'auto', amount_unit => 0.25, name => 'my sum');
SELECT candidate FROM dp_find_bound('bills', 'max_amount', 600, amount => 'paid', release_epsilon => 10, amount_unit => 0.25, name => 'paid since') WHERE chosen;
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT round(sum::numeric, 1) AS paid FROM dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e4, amount => 'paid', max_amount => 'auto', amount_unit => 0.25, name => 'my sum');
\set VERBOSITY default
SET client_min_messages = warning;
SELECT round(sum::numeric, 1) AS paid FROM dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e4, amount => 'paid', max_amount => 'auto', amount_unit => 0.25, name => 'sum since');
-- nor is one that the role was charged for and that is not stored
SET ROLE dp_test_finder;
SELECT candidate FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 1, name => 'unfinished') WHERE chosen;
RESET ROLE;
DELETE FROM dp.release_bound WHERE release = (SELECT id FROM dp.release WHERE name = 'unfinished');
UPDATE dp.release SET released_at = NULL WHERE name = 'unfinished';
SELECT releases AS charges FROM dp_budget('visits') \gset
SELECT * FROM error_of($$SELECT * FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 1, name => 'unfinished')$$);
SET ROLE dp_test_finder;
SELECT candidate FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 1, name => 'unfinished') WHERE chosen;
RESET ROLE;
SELECT releases - :charges AS charged FROM dp_budget('visits');
SELECT max_rows_per_unit FROM dp.datasets WHERE name = 'visits';
-- a role that acts for the owner no more does not make what it was charged for as such
CREATE ROLE dp_test_deputy;
SELECT format('GRANT %I TO dp_test_deputy', owner) AS sql FROM dp.datasets WHERE name = 'visits' \gexec
SET ROLE dp_test_deputy;
SELECT candidate FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 0.02, name => 'deputy') WHERE chosen;
RESET ROLE;
DELETE FROM dp.release_bound WHERE release = (SELECT id FROM dp.release WHERE name = 'deputy');
UPDATE dp.release SET released_at = NULL WHERE name = 'deputy';
SELECT format('REVOKE %I FROM dp_test_deputy', owner) AS sql FROM dp.datasets WHERE name = 'visits' \gexec
SELECT dp_grant('visits', 'dp_test_deputy');
SET ROLE dp_test_deputy;
SELECT * FROM error_of($$SELECT * FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 0.02, name => 'deputy')$$);
RESET ROLE;
SELECT candidate FROM dp_find_bound('visits', 'max_rows_per_unit', 600, release_epsilon => 0.02, name => 'deputy') WHERE chosen;
SELECT max_rows_per_unit FROM dp.datasets WHERE name = 'visits';
CALL dp_set_status('visits', 'deputy', 'retracted');

-- 'auto' under a name that a role has used for a number is not what that role says: it is another release
SET ROLE dp_test_finder;
SELECT max(size) <= 3 AS small FROM dp_hierarchy_release('bills', 1e4, max_size => 3, name => 'squatted');
SELECT round(sum::numeric) AS paid FROM dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e4, amount => 'paid', max_amount => 0.25, amount_unit => 0.25, name => 'squatted sum');
RESET ROLE;
SELECT e.code, e.message FROM (VALUES ($$dp_hierarchy_release('bills', 1e4, max_size => 'auto', name => 'squatted')$$),
                                      ($$dp_range_sums('bills', 'age', '{"[0,100)"}'::int8range[], 1e4, amount => 'paid', max_amount => 'auto', amount_unit => 0.25, name => 'squatted sum')$$)) AS r(call),
    error_of('SELECT * FROM ' || call) AS e;
SELECT name, parameters -> 'auto' AS auto FROM dp.releases WHERE dataset = 'bills' AND name IN ('sizes', 'squatted', 'sum of paid', 'squatted sum') ORDER BY name;

-- that nothing stood out of the noise each call tells, and so does the view
SELECT bool_and(seen) AS seen FROM dp.found_bounds;
UPDATE dp.release SET seen = false WHERE name = 'size';
SET client_min_messages = notice;
SELECT candidate FROM dp_find_bound('bills', 'max_size', 600, release_epsilon => 1, name => 'size') WHERE chosen;
SET client_min_messages = warning;
SELECT seen FROM dp.found_bounds WHERE release = 'size' AND chosen;

-- plans and publications
SELECT epsilon_sum FROM dp_plan_cost('bills', '[{"function": "dp_find_bound", "bound": "max_size", "epsilon": 0.5}, {"epsilon": 1, "max_size": "auto"}, {"epsilon": 1, "max_size": 7}]');
-- what is chosen is chosen before what awaits it is charged, of rows too; a role's search is nothing that others await
CALL dp_publish('rows first', '[{"dataset": "visits", "function": "dp_find_bound", "bound": "max_rows_per_unit", "epsilon": 600, "name": "rows then"}, {"dataset": "visits", "epsilon": 1e4}]');
SET ROLE dp_test_finder;
CALL dp_publish('by a role', '[{"dataset": "bills", "function": "dp_find_bound", "bound": "max_size", "epsilon": 600, "name": "of a role"}, {"dataset": "bills", "epsilon": 1e4, "max_size": "auto"}]');
RESET ROLE;
SELECT name, status, parameters -> 'max_size' AS max_size FROM dp.releases WHERE name IN ('of a role', 'by a role') ORDER BY name;
CALL dp_publish('all', '[{"dataset": "bills", "function": "dp_find_bound", "bound": "max_size", "epsilon": 600}, {"dataset": "bills", "name": "published", "epsilon": 1e4, "max_size": "auto"}]');
CALL dp_publish('all', '[{"dataset": "bills", "function": "dp_find_bound", "bound": "max_size", "epsilon": 600}, {"dataset": "bills", "name": "seven", "epsilon": 1e4, "max_size": 7}]');
CALL dp_publish('then', '[{"dataset": "bills", "name": "published", "epsilon": 1e4, "max_size": "auto"}]');
SELECT release, kept FROM dp.found_bounds WHERE release = 'all' AND chosen;
SELECT parameters -> 'max_size' AS max_size FROM dp.releases WHERE name = 'published';
SELECT * FROM error_of($$CALL dp_create_view('bills', 'bounds', 'size')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plot('bills', 'size')$$);

-- the types
SELECT 'auto'::dp_bound, ' 7 '::dp_bound, 7::smallint::dp_bound, 7::dp_bound, (-7)::bigint::dp_bound, NULL::dp_bound;
SELECT 'auto'::dp_amount, '12.50'::dp_amount, 7::dp_amount, 0.25::dp_amount, NULL::dp_amount;
SELECT e.* FROM (VALUES ($$'x'::dp_bound$$), ($$'1.5'::dp_bound$$), ($$''::dp_bound$$), ($$(-9223372036854775808)::bigint::dp_bound$$), ($$'9223372036854775808'::dp_bound$$),
                        ($$'x'::dp_amount$$), ($$'NaN'::dp_amount$$), ($$'NaN'::numeric::dp_amount$$), ($$''::dp_amount$$)) AS bad(value), error_of('SELECT ' || value) AS e;

-- what has no meaning
CREATE TABLE leaves (city text, h coco);
SELECT e.* FROM (VALUES
    ($$'bills', 'size', 1$$), ($$'bills', 'max_rows_per_unit', 1$$), ($$'bills', 'max_amount', 1$$), ($$'bills', 'max_size', 1, amount => 'paid'$$),
    ($$'bills', 'max_size', 1, amount_unit => 1$$), ($$'bills', 'max_amount', 1, amount => 'paid'$$), ($$'bills', 'max_amount', 1, amount => 'patient'$$),
    ($$'bills', 'max_amount', 1, amount => 'nothing'$$), ($$'bills', 'max_amount', 1, amount => 'paid', amount_unit => 0$$), ($$'bills', 'max_amount', 1, amount => 'paid', amount_unit => 'NaN'$$),
    ($$'shops', 'max_amount', 1, amount => 'staff'$$), ($$'nothing', 'max_size', 1$$), ($$'bills', 'max_size', 0$$), ($$'bills', 'max_size', 'NaN'$$),
    ($$'bills', 'max_size', 1e-12$$), ($$'bills', 'max_size', 1, release_epsilon => 0$$), ($$'bills', 'max_size', 1, release_epsilon => 'Infinity'$$),
    ($$NULL, 'max_size', 1$$), ($$'bills', NULL, 1$$), ($$'bills', 'max_size', NULL$$), ($$'bills', 'max_size', 1, name => ''$$), ($$'bills', 'max_size', 1, name => 'size'$$)) AS bad(arguments),
    error_of(format('SELECT * FROM dp_find_bound(%s)', arguments)) AS e;
SELECT e.* FROM (VALUES ($$max_rows_per_unit => 'auto'$$), ($$privacy_unit => 'patient', max_rows_per_unit => 'auto', leaves => 'leaves'$$),
                        ($$privacy_unit => 'patient', max_rows_per_unit => 0$$), ($$privacy_unit => 'patient', max_rows_per_unit => 4294967297$$),
                        ($$privacy_unit => 'patient'$$)) AS bad(arguments),
    error_of(format($$SELECT dp_create_dataset('none', 'visit', '{id}', '{city}', 'clinic', epsilon_budget => 1, %s)$$, arguments)) AS e;
SELECT * FROM error_of($$SELECT * FROM dp_hierarchy_release('bills', 1, max_size => NULL)$$);
