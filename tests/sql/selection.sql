-- dp_hierarchy_release with a choice of estimators: one of the candidates is released, all of them are charged.
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL);
INSERT INTO household VALUES (1, 'A'), (2, 'A'), (3, 'B'), (4, 'B');
CREATE TABLE person (id int);
INSERT INTO person VALUES (1), (1), (1), (2), (3), (3);
SELECT dp_create_dataset('census', 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9);
-- the noise of epsilon = 1e6 is 0
SELECT * FROM dp_hierarchy_release('census', 1e6, '{select:Hc|cut/Hg|H}', name => 'chosen');
SELECT epsilon_spent, releases FROM dp_budget('census');
SELECT epsilon, c.n, candidate->'levels'->1->>'estimator' AS at_leaves, round((candidate->'levels'->1->>'epsilon')::numeric / epsilon, 4) AS share,
       parameters->'errors'->>'sensitivity' AS sensitivity_of_errors, round((parameters->'errors'->>'epsilon')::numeric / epsilon, 4) AS share_of_errors
  FROM dp.ledger, jsonb_array_elements(parameters->'selection') WITH ORDINALITY AS c(candidate, n) ORDER BY n;
SELECT count(*) AS rows_served_free FROM dp_hierarchy_release('census', 1e6, '{select:Hc|cut/Hg|H}', name => 'chosen');
SELECT epsilon_spent, releases FROM dp_budget('census');
-- what is no choice
SELECT e.* FROM unnest('{{select:Hc},{select:Hc|Hx},{"select:Hc|select:H|cut"},{select:},{select:Hc|Hg/Hg/Hg}}'::text[]) AS word,
       error_of(format('SELECT dp_hierarchy_release(''census'', 1, ARRAY[%L])', word)) AS e;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1, '{select:Hc|Hg,Hc}')$$);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1, '{select:Hc|Hg}', 'chain')$$);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 5e-8, '{select:Hc|Hg}')$$);
SELECT epsilon_spent, releases FROM dp_budget('census');
