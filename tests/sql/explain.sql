-- dp_explain_hierarchy: what it says comes true, costs nothing, and is said to whoever may release.
SET client_min_messages = warning; -- how far it has come depends on the machine
CREATE TABLE household (id int UNIQUE, state text NOT NULL);
INSERT INTO household SELECT i, 's' || CASE WHEN i <= 20 THEN 1 WHEN i <= 200 THEN 2 ELSE 3 END FROM generate_series(1, 1000) AS i;
INSERT INTO household VALUES (1001, 'one group'), (NULL, 'no group');
CREATE TABLE person (id int);
INSERT INTO person SELECT i FROM generate_series(1, 1000) AS i, generate_series(1, least(100, 1000 / i)) AS member;
SELECT dp_create_dataset('census', 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9);

-- with nothing at hand a stated guess; one candidate is what a release does by default
SELECT level, regions, estimators, consistency, expected_emd > 0 AS emd, standard_error > 0 AS error, obtained, chosen
  FROM dp_explain_hierarchy('census', 1);
SELECT pg_get_function_arguments('dp_hierarchy_release'::regproc);
-- the same answer for the same question, whatever else is asked
SELECT count(*) AS the_same FROM dp_explain_hierarchy('census', 1) AS a
  JOIN dp_explain_hierarchy('census', 1, '{Hg,Hc}', '{bottom_up,matching}') AS b USING (level, estimators, consistency, expected_emd, standard_error, chosen);
-- a smaller epsilon, a larger error; a larger share of it at the root, a smaller error there, unless only leaves are measured
SELECT bool_and(small.expected_emd > large.expected_emd) AS larger_error
  FROM dp_explain_hierarchy('census', 0.1) AS small JOIN dp_explain_hierarchy('census', 1) AS large USING (level, estimators, consistency);
SELECT consistency, sign(leaves.expected_emd - root.expected_emd) AS better_root
  FROM dp_explain_hierarchy('census', 1, '{Hc/cut:5}', '{none,bottom_up}', budget_shares => '{0.1,0.9}') AS leaves
  JOIN dp_explain_hierarchy('census', 1, '{Hc/cut:5}', '{none,bottom_up}', budget_shares => '{0.9,0.1}') AS root USING (level, estimators, consistency)
 WHERE level = 0 ORDER BY consistency;
-- the estimators that have a meaning with each consistency method
SELECT consistency, array_agg(estimators[1] ORDER BY estimators) AS estimators
  FROM dp_explain_hierarchy('census', 1, max_size => 100, simulations => 2,
                            consistency => '{matching,matching_unweighted,bottom_up,pgsr,topdown,cumulative,chain,none}')
 WHERE level = 0 GROUP BY consistency ORDER BY consistency;

-- what it says of an earlier release. This one has the budget to be the truth
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e6, name => 'exact');
SELECT DISTINCT obtained FROM dp_explain_hierarchy('census', 1, release => 'exact');
SELECT DISTINCT obtained FROM dp_explain_hierarchy('census', 1, shape => '{0:5,1:90,2:30,70:1}');
SELECT DISTINCT obtained FROM dp_explain_hierarchy('census', 1, mean_size => 2.5);
-- it comes true: for each candidate and level the mean error of 60 releases is within seven standard errors of the expected
-- one; should that fail once in 10^7 runs, it is chance. The standard errors are small enough for that to say something.
CREATE TABLE released AS
  SELECT estimator, n, r.* FROM unnest('{cut,Hc,select:cut|Hc}'::text[]) AS estimator, generate_series(1, 60) AS n,
         LATERAL dp_hierarchy_release('census', 1 + 0 * n, ARRAY[estimator]) AS r;
CREATE TABLE error AS
  WITH difference AS (
      SELECT estimator, n, level, path, size, sum(groups) AS d
        FROM (TABLE released UNION ALL
              SELECT estimator, n, level, path, size, -groups
                FROM dp.release_rows, unnest('{cut,Hc,select:cut|Hc}'::text[]) AS estimator, generate_series(1, 60) AS n
               WHERE dataset = 'census' AND release = 'exact') AS of_both
       GROUP BY estimator, n, level, path, size
  ), moved AS (
      SELECT estimator, n, level, abs(sum(d) OVER by_size) * (lead(size) OVER by_size - size) AS entities
        FROM difference WINDOW by_size AS (PARTITION BY estimator, n, path ORDER BY size)
  )
  SELECT estimator, n, level, sum(entities) AS emd FROM moved GROUP BY estimator, n, level;
WITH found AS (
    SELECT estimator, level, avg(emd) AS emd, var_samp(emd) / count(*) AS variance FROM error GROUP BY estimator, level
)
SELECT level, estimators, abs(emd / regions - expected_emd) < 7 * spread AS as_expected, spread < expected_emd / 10 AS precise
  FROM dp_explain_hierarchy('census', 1, '{cut,Hc,select:cut|Hc}', '{matching}', release => 'exact', simulations => 200)
  JOIN found USING (level) CROSS JOIN LATERAL (SELECT sqrt(standard_error ^ 2 + variance / regions ^ 2) AS spread) AS s
 WHERE estimators = ARRAY[estimator] ORDER BY level, estimators;

-- nothing is spent, no private row is read
SELECT epsilon_spent, releases FROM dp_budget('census');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM dp_explain_hierarchy('census', 1);
SELECT count(*) FILTER (WHERE relation = 'person'::regclass) AS private, count(*) FILTER (WHERE relation = 'household'::regclass) > 0 AS public
  FROM pg_locks WHERE mode = 'SIReadLock';
ROLLBACK;

-- for whoever may release
CREATE ROLE dp_test_analyst;
SET ROLE dp_test_analyst;
SELECT * FROM error_of($$SELECT dp_explain_hierarchy('census', 1)$$);
RESET ROLE;
SELECT dp_grant('census', 'dp_test_analyst');
SET ROLE dp_test_analyst;
SELECT code, message FROM error_of('TABLE household');
SELECT count(*) AS rows FROM dp_explain_hierarchy('census', 1);
SELECT count(*) AS rows FROM dp_explain_hierarchy('census', 1, release => 'exact');
RESET ROLE;

-- without a table of groups a release has to tell the regions
SELECT dp_create_dataset('undeclared', 'household', '{id}', '{state}', epsilon_budget => 10);
SELECT * FROM error_of($$SELECT dp_explain_hierarchy('undeclared', 1)$$);
SELECT * FROM error_of($$SELECT dp_explain_hierarchy('undeclared', 1, release => 'exact')$$);
SELECT count(DISTINCT path) AS regions FROM dp_hierarchy_release('undeclared', 1, '{Hc}', max_size => 1, name => 'first') WHERE level = 1;
SELECT level, regions, count(*) AS candidates FROM dp_explain_hierarchy('undeclared', 1, release => 'first') GROUP BY level, regions ORDER BY level;

-- a root alone, no region, no group
SELECT dp_create_dataset('root', 'person', '{id}', '{}', 'household', epsilon_budget => 1);
SELECT level, regions, count(*) AS candidates, count(*) FILTER (WHERE chosen) AS chosen FROM dp_explain_hierarchy('root', 1) GROUP BY level, regions;
CREATE TABLE nobody (id int, r text);
SELECT dp_create_dataset('nobody', 'person', '{id}', '{r}', 'nobody', epsilon_budget => 1);
SELECT * FROM error_of($$SELECT dp_explain_hierarchy('nobody', 1, '{auto}', '{matching}')$$);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('nobody', 1)$$);
SELECT dp_create_dataset('nobody at all', 'person', '{id}', '{}', 'nobody', epsilon_budget => 1);
SELECT level, regions, expected_emd FROM dp_explain_hierarchy('nobody at all', 1, '{auto}', '{matching}');
SELECT count(*) FROM dp_hierarchy_release('nobody at all', 0.5);
CREATE TABLE many AS SELECT i AS id, i AS region FROM generate_series(1, 20) AS i;
SELECT dp_create_dataset('many', 'person', '{id}', '{region}', 'many', epsilon_budget => 1);
SELECT * FROM error_of($$SELECT dp_explain_hierarchy('many', 1, consistency => '{pgsr}', max_size => 5000000)$$);

-- arguments that are refused
SELECT e.* FROM (VALUES ('NULL, 1'), ('''nowhere'', 1'), ('''census'', NULL'), ('''census'', -1'), ('''census'', 1e-12'),
    ('''census'', 1, ''{Hx}'''), ('''census'', 1, ''{select:Hc}'''), ('''census'', 1, ''{Hc/select:Hc|Hg}'''), ('''census'', 1, ''{Hc/Hc/Hc}'''), ('''census'', 1, ''{}'''), ('''census'', 1, ''{NULL}'''),
    ('''census'', 1, consistency => ''{mean}'''), ('''census'', 1, consistency => ''{}'''), ('''census'', 1, ''{Hg}'', ''{chain}'''),
    ('''census'', 1, max_size => 0'), ('''census'', 1, budget_shares => ''{1}'''),
    ('''census'', 1, simulations => 1'), ('''census'', 1, simulations => 1001'), ('''census'', 1, simulations => NULL'),
    ('''census'', 1, release => ''lost'''), ('''census'', 1, shape => ''{}'''), ('''census'', 1, mean_size => 0'), ('''census'', 1, mean_size => ''NaN'''),
    ('''census'', 1, mean_size => 3, shape => ''{1:1}'''))
    AS bad(arguments), error_of(format('SELECT dp_explain_hierarchy(%s)', arguments)) AS e;

-- it can be cancelled
SET statement_timeout = '300ms';
SELECT dp_explain_hierarchy('census', 1, '{Hc}', max_size => 5000000, simulations => 1000) \g /dev/null
RESET statement_timeout;
