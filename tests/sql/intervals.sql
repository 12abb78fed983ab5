-- Error bars: dp_hierarchy_intervals of a stored release, dp_histogram_intervals of a histogram. Post-processing, for whoever may read what was released.
SET client_min_messages = warning; -- the errors of the candidates are noisy
CREATE TABLE household (id int UNIQUE, state text NOT NULL);
INSERT INTO household SELECT i, CASE WHEN i <= 100 THEN 'small' ELSE 'large' END FROM generate_series(1, 1000) AS i;
INSERT INTO household VALUES (NULL, 'no group');
CREATE TABLE person (id int);
INSERT INTO person SELECT i FROM generate_series(1, 1000) AS i, generate_series(1, least(40, 1000 / i)) AS member;
SELECT dp_create_dataset('census', 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e6, max_size => 50, name => 'exact');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1, max_size => 50, name => 'noisy');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1, '{Hc,Hg}', 'matching', 50, '{0.3,0.7}', name => 'shares');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1, '{cut}', 'bottom_up', 50, name => 'leaves alone');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1, '{select:cut|Hc}', 'matching', 50, name => 'choice');

-- what each level got is shown: all that the first look left; what the caller said; nothing where nothing was measured, or where there was a choice
SELECT name, cardinality(level_epsilons) AS levels, (SELECT round(sum(e)::numeric, 9) FROM unnest(level_epsilons) AS e) AS sum
  FROM dp.releases WHERE name <> 'exact' ORDER BY name;
SELECT name, level_epsilons FROM dp.releases WHERE name IN ('shares', 'leaves alone') ORDER BY name;

-- a release that is the truth has bars of no width
SELECT count(*) > 50 AS bars, bool_and(lower = value AND value = upper) AS exact FROM dp_hierarchy_intervals('census', 'exact');
-- the rows are those of the release: each size twice, and six statistics (of a region without groups, one)
SELECT level, path, count(*) - 2 * (SELECT count(*) FROM dp.release_rows AS r
                                     WHERE (r.dataset, r.release, r.path) = ('census', 'exact', i.path)) AS others
  FROM dp_hierarchy_intervals('census', 'exact') AS i GROUP BY level, path ORDER BY level, path;
SELECT i.statistic, i.size, i.value FROM dp_hierarchy_intervals('census', 'exact') AS i WHERE path = '{small}' AND (size IS NULL OR size > 35) ORDER BY size, statistic;
-- values are what was released; bars hold them, and what is possible holds the bars
SELECT i.release, bool_and(i.value = r.groups) FILTER (WHERE statistic = 'groups_of_size') AS released,
       bool_and(lower <= value AND value <= upper) AS hold, bool_or(lower < upper) AS wide,
       bool_and(lower >= 0 AND (statistic !~ '^groups' OR upper <= 1000) AND (statistic <> 'gini' OR upper <= 1)) AS possible
  FROM (SELECT n.release, i.* FROM unnest('{noisy,shares,leaves alone,choice}'::text[]) AS n (release), LATERAL dp_hierarchy_intervals('census', n.release) AS i) AS i
  LEFT JOIN dp.release_rows AS r ON (r.dataset, r.release, r.path, r.size) = ('census', i.release, i.path, i.size)
 GROUP BY i.release ORDER BY i.release;
-- the same bars each time; a higher confidence and bars for all sizes at once are wider
SELECT count(*) AS differ FROM (SELECT * FROM dp_hierarchy_intervals('census', 'noisy') EXCEPT SELECT * FROM dp_hierarchy_intervals('census', 'noisy')) AS d;
CREATE VIEW widths AS
  SELECT confidence, simultaneous, sum(upper - lower) AS width
    FROM unnest('{0.5,0.9,0.99}'::float8[]) AS confidence, unnest('{f,t}'::bool[]) AS simultaneous,
         LATERAL dp_hierarchy_intervals('census', 'noisy', confidence, simultaneous) WHERE statistic ~ '^groups'
   GROUP BY confidence, simultaneous;
SELECT bool_and(width > before) AS wider FROM (SELECT width, lag(width) OVER (PARTITION BY simultaneous ORDER BY confidence) AS before FROM widths) AS w WHERE before IS NOT NULL;
SELECT bool_and(a.width > e.width) AS wider_at_once FROM widths AS a JOIN widths AS e USING (confidence) WHERE a.simultaneous AND NOT e.simultaneous;

-- kept for dashboards: the same bars, in the view
CREATE FUNCTION kept() RETURNS TABLE (regions bigint, same bigint) LANGUAGE sql AS $$
  SELECT count(*), count(*) FILTER (WHERE (entities_lower, entities_upper, mean_size_lower, mean_size_upper, median_lower, median_upper, p90_lower, p90_upper, gini_lower, gini_upper)
         IS NOT DISTINCT FROM (SELECT (max(lower) FILTER (WHERE statistic = 'entities'), max(upper) FILTER (WHERE statistic = 'entities'), max(lower) FILTER (WHERE statistic = 'mean_size'), max(upper) FILTER (WHERE statistic = 'mean_size'),
                               max(lower) FILTER (WHERE statistic = 'median'), max(upper) FILTER (WHERE statistic = 'median'), max(lower) FILTER (WHERE statistic = 'p90'), max(upper) FILTER (WHERE statistic = 'p90'),
                               max(lower) FILTER (WHERE statistic = 'gini'), max(upper) FILTER (WHERE statistic = 'gini')) FROM dp_hierarchy_intervals('census', 'noisy') AS i WHERE i.path = r.path))
    FROM dp.release_regions AS r WHERE release = 'noisy' $$;
SELECT * FROM kept();
CALL dp_keep_intervals('census', 'noisy');
CALL dp_keep_intervals('census', 'noisy');
SELECT *, regions = same AS all FROM kept();
SELECT count(DISTINCT release) AS releases, bool_and(entities_lower <= entities AND entities <= entities_upper) AS hold FROM dp.release_regions WHERE entities_lower IS NOT NULL;

-- beside a scan by several workers, too
CREATE TABLE sizes AS SELECT generate_series(0, 50) AS size;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT count(*) > 0 AS joined FROM sizes JOIN dp_hierarchy_intervals('census', 'noisy') USING (size);
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;

-- one histogram by itself
SELECT statistic, size, value, lower, upper FROM dp_histogram_intervals('{0:10,3:5}', 1e6, 50) ORDER BY size, statistic;
SELECT bool_and(lower <= value AND value <= upper) AS hold, sum(upper - lower) > 0 AS wide FROM dp_histogram_intervals('{0:10,3:5,4:7,9:1}', 0.5, 50, 'Hc');
SELECT count(*) AS rows, sum(upper) AS sum FROM dp_histogram_intervals('{}', 1);

-- nothing is spent, and in a read-only transaction there is nothing to refuse
BEGIN READ ONLY;
SELECT count(*) > 0 AS bars FROM dp_hierarchy_intervals('census', 'noisy');
COMMIT;
SELECT count(*) AS charges FROM dp.ledger;
-- for everyone, like the rows; but not for those from whom these were taken
CREATE ROLE dp_test_reader;
SET ROLE dp_test_reader;
SELECT count(*) > 0 AS bars FROM dp_hierarchy_intervals('census', 'noisy');
RESET ROLE;
REVOKE SELECT ON dp.release_rows FROM PUBLIC;
GRANT SELECT (dataset) ON dp.release_rows TO dp_test_reader;
SET ROLE dp_test_reader;
SELECT count(*) > 0 AS kept FROM dp_hierarchy_intervals('census', 'noisy');
RESET ROLE;
REVOKE SELECT (dataset) ON dp.release_rows FROM dp_test_reader;
GRANT SELECT ON dp.release_rows TO PUBLIC;

-- what is wrong with the arguments
SELECT dp_hierarchy_intervals(NULL, 'noisy');
SELECT dp_hierarchy_intervals('census', 'no such');
SELECT dp_hierarchy_intervals('no such', 'noisy');
SELECT dp_hierarchy_intervals('census', 'noisy', 1);
SELECT dp_hierarchy_intervals('census', 'noisy', 'NaN');
SELECT dp_hierarchy_intervals('census', 'noisy', 0.9, NULL);
CALL dp_keep_intervals(NULL, 'noisy');
CALL dp_keep_intervals('census', NULL);
CALL dp_keep_intervals('census', 'no such');
SELECT dp_histogram_intervals(NULL, 1);
SELECT dp_histogram_intervals('{1:1}', -1);
SELECT dp_histogram_intervals('{60:1}', 1, 50);
SELECT dp_histogram_intervals('{1:1}', 1, 50, 'no such');
SELECT dp_drop_dataset('census');
SELECT count(*) > 0 AS kept FROM dp_hierarchy_intervals('census', 'noisy');
DROP ROLE dp_test_reader;
