-- privacy_unit and max_rows_per_unit: someone with several rows. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE home (id int PRIMARY KEY, r text NOT NULL);
INSERT INTO home SELECT i, 'r' || i % 2 FROM generate_series(1, 6) AS i;
-- ann has 100 visits to home 1, bob 3 to homes 1 to 3, cy 1; a visit without a name is nobody's
CREATE TABLE visit (id int, who text);
INSERT INTO visit SELECT 1, 'ann' FROM generate_series(1, 100);
INSERT INTO visit VALUES (1, 'bob'), (2, 'bob'), (3, 'bob'), (4, 'cy'), (4, NULL), (4, NULL), (NULL, 'cy');
SELECT dp_create_dataset('visits', 'visit', '{id}', '{r}', 'home', epsilon_budget => 1e9,
                         privacy_unit => 'who', max_rows_per_unit => 3);
SELECT name, privacy_unit, max_rows_per_unit FROM dp.datasets;
-- ann counts 3 times, bob 3 times, cy once: the other row has no home
SELECT histogram FROM histograms($$dp_hierarchy_release('visits', 1e6)$$) WHERE path = '{}';
SELECT parameters->'rows_per_unit' AS rows_per_unit, parameters->'levels'->0->'sensitivity' AS sensitivity
  FROM dp.ledger ORDER BY id DESC LIMIT 1;

-- which groups occur must not depend on the choice of a person's rows
SELECT * FROM error_of($$SELECT dp_create_dataset('alone', 'visit', '{id}', '{}', epsilon_budget => 1, privacy_unit => 'who', max_rows_per_unit => 2)$$);

-- which rows are used is drawn afresh for each release and cannot be steered by a seed: with one row
-- of bob's three, all three homes turn up (each is missed by 60 releases with probability 3e-11)
DELETE FROM visit WHERE who = 'ann' OR who = 'cy';
CREATE TABLE place (id int PRIMARY KEY, r text NOT NULL);
INSERT INTO place SELECT i, 'r' || i FROM generate_series(1, 3) AS i;
SELECT dp_create_dataset('which', 'visit', '{id}', '{r}', 'place', epsilon_budget => 1e9, privacy_unit => 'who', max_rows_per_unit => 1);
CREATE TABLE seen (r text);
DO $$ BEGIN
  FOR i IN 1..60 LOOP
    PERFORM setseed(0.5);
    INSERT INTO seen SELECT path[1] FROM dp_hierarchy_release('which', 1e6) WHERE level = 1 AND size = 1;
  END LOOP;
END $$;
SELECT count(*) AS releases, count(DISTINCT r) AS places FROM seen;

-- the noise grows by the bound: with 1000 rows per unit and epsilon 10 its scale is 100
SELECT dp_create_dataset('wide', 'visit', '{id}', '{}', 'home', epsilon_budget => 1e9, privacy_unit => 'who', max_rows_per_unit => 1000);
SELECT count(DISTINCT histogram) > 1 AS noisy FROM (
  SELECT i, string_agg(size || ':' || groups, ',' ORDER BY size) AS histogram
    FROM generate_series(1, 20) AS i, dp_hierarchy_release('wide', 10 + 0 * i, '{Hg}') GROUP BY i) AS h;
SELECT parameters->'levels'->0->'sensitivity' AS sensitivity FROM dp.ledger ORDER BY id DESC LIMIT 1;

SELECT e.* FROM (VALUES
    ('privacy_unit => ''who'''), ('max_rows_per_unit => 3'), ('privacy_unit => ''who'', max_rows_per_unit => 0'),
    ('privacy_unit => ''who'', max_rows_per_unit => -1'), ('privacy_unit => ''who'', max_rows_per_unit => 1000001'),
    ('privacy_unit => ''nobody'', max_rows_per_unit => 1'),
    ('privacy_unit => ''who'', max_rows_per_unit => 1, size_column => ''id''')) AS bad(arguments),
    error_of(format('SELECT dp_create_dataset(''d'', ''visit'', ''{id}'', ''{}'', ''home'', epsilon_budget => 1, %s)', arguments)) AS e;
SELECT * FROM error_of($$SELECT dp_coco_histogram('{1:1}'::coco, 1, dataset => 'visits')$$);
