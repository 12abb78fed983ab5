-- needs: icu
-- dp_find_regions: which regions there are is private, too, and found where enough units have them. With epsilon 200 and
-- delta 1e-9 a region that one has is found with a probability of 1e-9, and one that two have is missed with e^-179.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE region (state text, city text);
CREATE TABLE visit (patient int, state text, city text, doctor text);
INSERT INTO visit VALUES
    (1, 'B', 'x', 'ann'), (1, 'B', 'x', 'ann'), (2, 'A', 'y', 'ann'), (3, 'A', 'y', 'bob'), (3, 'A', 'x', 'bob'),
    (4, 'A', 'alone', 'bob'), (5, NULL, 'x', 'cy'), (6, NULL, 'x', 'cy'), (7, 'A', NULL, 'cy'), (8, 'A', NULL, 'cy'),
    (NULL, 'no', 'group', 'cy'), (NULL, 'no', 'group', 'cy'),
    (9, 'A', repeat('long', 20000), 'cy'), (9, 'A', repeat('long', 20000), 'cy');
SELECT dp_create_dataset('visits', 'visit', '{patient}', '{state,city}', epsilon_budget => 1e9, delta_budget => 0.5, groups_private => true, regions => 'region');
-- nothing is known yet; rows are counted: (A, x) has one
SELECT * FROM dp_find_regions('visits', 200, 1e-9);

-- a name is charged once, stored, and served again; the order is that of the names
SELECT * FROM dp_find_regions('visits', 200, 1e-9, name => 'cities');
INSERT INTO visit SELECT 20 + i, 'C', 'new', 'dee' FROM generate_series(1, 50) AS i;
SELECT * FROM dp_find_regions('visits', 200, 1e-9, 'cities');
SELECT dataset, release, region, path FROM dp.found_regions;
SELECT function, epsilon, delta, round(rho, 6) AS rho, parameters FROM dp.ledger WHERE dataset = 'visits' ORDER BY id;
SELECT epsilon_spent, delta_spent FROM dp.datasets WHERE name = 'visits';
SELECT c -> 'rows' ->> 'columns' AS columns, c -> 'rows' ->> 'count' AS count, c -> 'release' ->> 'function' AS function,
       c #>> '{rows,sha256}' = encode(sha256(convert_to(E'"{A,y}"\n"{B,x}"\n', 'UTF8')), 'hex') AS of_rows
  FROM dp_certificate('visits', 'cities') AS c;
SELECT * FROM error_of($$SELECT * FROM dp_find_regions('visits', 201, 1e-9, 'cities')$$);
SELECT * FROM error_of($$CALL dp_create_view('visits', 'cities', 'cities')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plot('visits', 'cities')$$);

-- what was found becomes the public table of regions
INSERT INTO region SELECT path[1], path[2] FROM dp_find_regions('visits', 200, 1e-9, 'cities');
SELECT * FROM histograms($$dp_hierarchy_release('visits', 1e6)$$);

-- with a region for those that were not found: below each one above that is known, and on all levels below the root
SELECT dp_create_dataset('all visits', 'visit', '{patient}', '{state,city}', epsilon_budget => 1e9, delta_budget => 0.5, groups_private => true, regions => 'region', other => 'other');
SELECT regions, other FROM dp.datasets WHERE other IS NOT NULL;
SELECT * FROM histograms($$dp_hierarchy_release('all visits', 1e6, name => 'all')$$);
SELECT dp_certificate('all visits', 'all') -> 'public' ->> 'regions' AS regions;
-- a region of that name, known or not, is that one; and some other region has to be known
INSERT INTO visit VALUES (90, 'A', 'other', 'fay'), (91, 'other', 'x', 'fay'), (92, 'other', 'other', 'fay'), (4, 'Z', 'z', 'fay');
SELECT * FROM histograms($$dp_hierarchy_release('all visits', 1e6)$$);
INSERT INTO region VALUES ('A', 'other'), ('other', 'other');
SELECT * FROM histograms($$dp_hierarchy_release('all visits', 1e6)$$);
CREATE TABLE unknown (state text, city text);
SELECT dp_create_dataset('unknown', 'visit', '{patient}', '{state,city}', epsilon_budget => 1e9, groups_private => true, regions => 'unknown', other => 'other');
SELECT * FROM histograms($$dp_hierarchy_release('unknown', 1e6)$$);
DELETE FROM visit WHERE doctor = 'fay';

-- people: each counts once in a region, whatever rows they have there, and in three regions at most
SELECT dp_create_dataset('doctors', 'visit', '{patient}', '{state,city}', epsilon_budget => 1e9, delta_budget => 0.5, groups_private => true,
                         regions => 'region', privacy_unit => 'doctor', max_rows_per_unit => 3);
SELECT * FROM dp_find_regions('doctors', 600, 1e-9);
INSERT INTO visit VALUES (10, 'B', 'x', 'eve'), (11, 'D', 'd', NULL), (12, 'D', 'd', NULL);
SELECT * FROM dp_find_regions('doctors', 600, 1e-9);
SELECT parameters - 'name' AS parameters FROM dp.ledger WHERE dataset = 'doctors' ORDER BY id LIMIT 1;
-- of twenty cities each of two people counts in one: both in the same one is as likely as 1 in 20, and no city has two else
CREATE TABLE tour (person int, city text);
INSERT INTO tour SELECT person, 'city ' || city FROM generate_series(1, 2) AS person, generate_series(1, 20) AS city, generate_series(1, 3);
CREATE TABLE city (city text);
SELECT dp_create_dataset('tours', 'tour', '{person}', '{city}', epsilon_budget => 1e9, delta_budget => 0.5, groups_private => true,
                         regions => 'city', privacy_unit => 'person', max_rows_per_unit => 1);
-- two are found in one of 400 calls with a probability below 1e-6, none in any with 1.3e-9
SELECT max(found) <= 1 AS once, sum(found) BETWEEN 1 AND 100 AS some
  FROM (SELECT i, count(path) AS found FROM generate_series(1, 400) AS i LEFT JOIN LATERAL dp_find_regions('tours', 200 + 0 * i, 1e-9) ON true GROUP BY i) AS f;

-- groups that a private table lists: a group is a unit, with all its entities
CREATE TABLE household (id int PRIMARY KEY, state text, city text);
INSERT INTO household VALUES (1, 'A', 'x'), (2, 'A', 'x'), (3, 'B', 'x');
CREATE TABLE person (id int);
INSERT INTO person SELECT 3 FROM generate_series(1, 1000);
SELECT dp_create_dataset('census', 'person', '{id}', '{state,city}', 'household', epsilon_budget => 1e9, delta_budget => 0.5, groups_private => true, regions => 'region');
SELECT * FROM dp_find_regions('census', 200, 1e-9);

-- rows that are groups, and names that are equal and print differently, in a collation where case is no difference
CREATE COLLATION IF NOT EXISTS any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE shop (city text COLLATE any_case, staff int);
INSERT INTO shop VALUES ('Rome', 1), ('Rome', NULL), ('ROME', 3), ('Bern', 1), ('bern', 1), ('', 1), ('', 2), ('é', 1), ('é', 1), ('f', 1), ('f', 1);
CREATE TABLE place (city text);
SELECT dp_create_dataset('shops', 'shop', '{}', '{city}', size_column => 'staff', epsilon_budget => 1e9, delta_budget => 0.5, groups_private => true, regions => 'place');
SELECT * FROM dp_find_regions('shops', 200, 1e-9);

-- how many are enough
SELECT * FROM dp_explain_regions('shops', 1, 1e-8);
SELECT * FROM dp_explain_regions('tours', 1, 1e-8);
SELECT * FROM dp_explain_regions('doctors', 1, 1e-8);
-- of a plan: what may fail takes its part of delta
SELECT dp_create_dataset('planned', 'visit', '{patient}', '{state,city}', epsilon_budget => 10, delta_budget => 1e-6, groups_private => true, regions => 'region');
SELECT round(epsilon_exact::numeric, 6) AS exact, epsilon_sum, delta, mu
  FROM dp_plan_cost('planned', '[{"function": "dp_find_regions", "epsilon": 1, "delta": 1e-8}, {"epsilon": 1}]');
CALL dp_publish('all', '[{"dataset": "shops", "function": "dp_find_regions", "epsilon": 200, "delta": 1e-9}]');
SELECT count(*) AS found FROM dp.found_regions WHERE dataset = 'shops';

-- the delta has to be left also where the zCDP bound is what counts, and a failed charge spends nothing
SELECT dp_create_dataset('small', 'shop', '{}', '{city}', size_column => 'staff', epsilon_budget => 3, delta_budget => 1e-6, groups_private => true, regions => 'place');
CREATE TABLE of_many AS SELECT count(*) FROM generate_series(1, 60) AS i, dp_find_regions('small', 0.05 + 0 * i, 8e-9);
SELECT epsilon_sum, round(epsilon_zcdp::numeric, 2) AS epsilon_zcdp, d.delta_spent FROM dp_budget('small'), dp.datasets AS d WHERE d.name = 'small';
-- the epsilons sum to 3: only the zCDP bound has room, for what takes no more delta than is left
SELECT count(*) >= 0 AS charged FROM dp_find_regions('small', 0.05, 1e-8);
SELECT * FROM error_of($$SELECT * FROM dp_find_regions('small', 0.05, 3e-8)$$);

-- a role with a grant: what it may ask for, by name alone, and what it sees
CREATE ROLE dp_test_finder;
SELECT dp_set_smallest_charge('shops', 0.01);
SELECT dp_grant('shops', 'dp_test_finder');
SET ROLE dp_test_finder;
SELECT * FROM error_of($$SELECT * FROM dp_find_regions('shops', 1, 1e-9)$$);
SELECT * FROM error_of($$SELECT * FROM dp_find_regions('shops', 1e-3, 1e-9, 'small')$$);
SELECT count(*) AS found FROM dp_find_regions('shops', 200, 1e-9, 'mine');
SELECT release, count(*) FROM dp.found_regions WHERE dataset = 'shops' GROUP BY release ORDER BY release;
SELECT * FROM error_of('SELECT * FROM dp.release_found_region');
SELECT * FROM error_of($$SELECT * FROM dp_find_regions('census', 1, 1e-9)$$);
SELECT * FROM error_of($$SELECT * FROM dp_explain_regions('census', 1, 1e-9)$$);
RESET ROLE;

-- what has no meaning
CREATE TABLE plain (id int, city text);
SELECT dp_create_dataset('plain', 'plain', '{city,id}', '{city}', epsilon_budget => 1, delta_budget => 1e-6);
SELECT dp_create_dataset('root', 'plain', '{id}', '{}', epsilon_budget => 1, delta_budget => 1e-6, groups_private => true);
SELECT dp_create_dataset('pure', 'plain', '{id}', '{city}', epsilon_budget => 1, groups_private => true, regions => 'place');
SELECT e.* FROM (VALUES
    ($$'plain', 1, 1e-9$$), ($$'root', 1, 1e-9$$), ($$'pure', 1, 1e-9$$), ($$'nothing', 1, 1e-9$$),
    ($$'shops', 0, 1e-9$$), ($$'shops', 'NaN', 1e-9$$), ($$'shops', 1e9, 1e-9$$), ($$'shops', 1e-5, 1e-9$$),
    ($$'shops', 1, 0$$), ($$'shops', 1, 1$$), ($$'shops', 1, -1e-9$$), ($$'shops', 1, 'NaN'$$), ($$'shops', 1, 1e-31$$),
    ($$'doctors', 1e-5, 1e-9$$), ($$'doctors', 1, 1e-30$$),
    ($$NULL, 1, 1e-9$$), ($$'shops', NULL, 1e-9$$), ($$'shops', 1, NULL$$), ($$'shops', 1, 1e-9, ''$$)) AS bad(arguments),
    error_of(format('SELECT * FROM dp_find_regions(%s)', arguments)) AS e;
SELECT * FROM error_of($$SELECT dp_create_dataset('none', 'plain', '{id}', '{city}', epsilon_budget => 1, groups_private => true)$$);
SELECT e.* FROM (VALUES ($$other => 'other'$$), ($$groups_private => true, other => 'other'$$),
                        ($$groups_private => true, regions => 'place', other => ''$$)) AS bad(arguments),
    error_of(format($$SELECT dp_create_dataset('none', 'plain', '{id}', '{city}', epsilon_budget => 1, %s)$$, arguments)) AS e;
-- a table of regions without rows
SELECT * FROM error_of($$SELECT * FROM dp_hierarchy_release('shops', 1)$$);
RESET ROLE;
-- regions are called what the table declares, and those of a release are written together
SELECT count(*) > 0 AS any, count(*) FILTER (WHERE region IS DISTINCT FROM dp.region(path)) AS others,
       count(DISTINCT (release, cmin::text)) = count(DISTINCT release) AS together FROM dp.release_found_region;
