-- Made-up groups in a made-up nation and their entities, one row each: :groups groups in 52 states with 2 to 119
-- counties each, 3,144 in all; :entities entities, of which some groups have many and some none. In no order, as
-- tables are that were filled over time, and once more in the order of their groups. The same on every run.

SELECT setseed(0.5);

CREATE TABLE household AS
SELECT id, 1 + floor(52 * sqrt(county / 3144))::int AS state, county::int
  FROM (SELECT id, floor(3144 * random() ^ 2) AS county FROM generate_series(1, :groups::bigint) AS id) AS draws;
ALTER TABLE household ADD PRIMARY KEY (id);

-- with its group's region, for the datasets without a table of groups
CREATE TABLE person AS
SELECT id, state, county
  FROM (SELECT 1 + floor(:groups * random() ^ 1.5)::bigint AS id FROM generate_series(1, :entities)) AS draws
  JOIN household USING (id)
 ORDER BY random();

CREATE TABLE person_in_order AS SELECT * FROM person ORDER BY id;

VACUUM ANALYZE household, person, person_in_order;
SELECT dp_create_dataset('households', 'person', '{id}', '{state,county}', 'household', epsilon_budget => 1e6);
SELECT dp_create_dataset('people', 'person', '{id}', '{state,county}', epsilon_budget => 1e6);
SELECT dp_create_dataset('households_in_order', 'person_in_order', '{id}', '{state,county}', 'household', epsilon_budget => 1e6);
SELECT dp_create_dataset('people_in_order', 'person_in_order', '{id}', '{state,county}', epsilon_budget => 1e6);
