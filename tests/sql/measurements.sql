-- keep_measurements: the noisy numbers of a named release, as they were measured.
SET client_min_messages = warning;
CREATE TABLE household (id int UNIQUE, state text NOT NULL);
INSERT INTO household SELECT i, CASE WHEN i <= 40 THEN 'a' ELSE 'b' END FROM generate_series(1, 100) AS i;
INSERT INTO household VALUES (NULL, 'none');
CREATE TABLE person (id int);
INSERT INTO person SELECT i FROM generate_series(1, 100) AS i, generate_series(1, i % 5) AS member;
SELECT dp_create_dataset('census', 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9);
-- with noise that is 0 the numbers are the exact ones
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e6, '{H}', 'none', 6, name => 'H', keep_measurements => true);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e6, '{Hc,Hc_l2}', 'matching', 6, name => 'Hc', keep_measurements => true);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e6, '{cut}', 'bottom_up', 60, name => 'cut', keep_measurements => true);
SELECT release, path, kind, array_agg(value ORDER BY place) AS "values", min(place) AS from, round(max(scale)::numeric, 9) AS scale
  FROM dp.release_measurements WHERE kind <> 'row' GROUP BY release, level, path, kind ORDER BY release, level, path, kind;
-- rows are the largest groups' sizes, in descending order, but the number of columns if that is more
SELECT release, path, min(place) AS from, max(value) = greatest(4, columns) AS largest, bool_and(value >= columns) AS at_least_the_cut,
       array_agg(value ORDER BY place) = array_agg(value ORDER BY value DESC) AS descend
  FROM (SELECT m.*, (SELECT count(*) FROM dp.release_measurements AS c WHERE (c.release, c.path, c.kind) = (m.release, m.path, 'column')) AS columns
          FROM dp.release_measurements AS m WHERE kind = 'row') AS m
 GROUP BY release, level, path, columns ORDER BY release, level, path;
SELECT DISTINCT level FROM dp.release_measurements WHERE release = 'cut';

-- the default: a first look at the root, and what the levels got; scales are 1 / epsilon
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 2, max_size => 6, name => 'auto', keep_measurements => true);
SELECT bool_and(round((m.scale * CASE WHEN kind ~ '^look_' THEN 0.02 ELSE r.level_epsilons[m.level + 1] END)::numeric, 6) = 1) AS scales,
       bool_or(kind ~ '^look_' AND level = 0) AS look, bool_or(path = '{a}') AS region, count(*) FILTER (WHERE path = '{none}') AS empty
  FROM dp.release_measurements AS m JOIN dp.releases AS r ON (r.dataset, r.name) = (m.dataset, m.release) WHERE m.release = 'auto';
-- what others make of them: counts are read back and made consistent
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e6, '{H}', 'matching', 6, name => 'counts', keep_measurements => true);
CREATE VIEW noisy AS
  SELECT path, place AS size, value AS groups, 2 * scale ^ 2 + 1e-9 AS variance FROM dp.release_measurements WHERE release = 'counts' AND kind = 'count';
SELECT count(*) AS differ FROM (SELECT path, size, groups FROM dp_hierarchy_consistent('noisy')
                                EXCEPT SELECT path, size, groups FROM dp.release_rows WHERE release = 'counts') AS d;
-- asked for again it is free, and is not the same as a release without
SELECT count(*) > 0 AS again FROM dp_hierarchy_release('census', 1e6, '{H}', 'none', 6, name => 'H', keep_measurements => true);
SELECT dp_hierarchy_release('census', 1e6, '{H}', 'none', 6, name => 'H');
SELECT count(*) AS charges, count(*) FILTER (WHERE parameters ? 'keep_measurements') AS kept FROM dp.ledger;
SELECT count(*) AS kept FROM dp.releases WHERE (parameters->>'keep_measurements')::bool;
-- what is wrong with the arguments
SELECT dp_hierarchy_release('census', 1, keep_measurements => true);
SELECT dp_hierarchy_release('census', 1, keep_measurements => NULL);
SELECT dp_hierarchy_release('census', 1, '{Hc}', 'chain', 6, name => 'chain', keep_measurements => true);
SELECT dp_hierarchy_release('census', 1, '{select:cut|Hc}', name => 'choice', keep_measurements => true);
SELECT dp_hierarchy_release('census', 1, '{Hc,Hg}', name => 'rows', keep_measurements => true);
SELECT dp_hierarchy_release('census', 1, '{cut:2}', name => 'rows', keep_measurements => true);
CREATE TABLE street (id int UNIQUE, name text);
INSERT INTO street SELECT i, i::text FROM generate_series(1, 20) AS i;
SELECT dp_create_dataset('streets', 'person', '{id}', '{name}', 'street', epsilon_budget => 1);
SELECT dp_hierarchy_release('streets', 1, max_size => 5000000, name => 'many', keep_measurements => true);
SELECT count(*) AS charges FROM dp.ledger;
