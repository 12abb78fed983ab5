-- dp_plan_cost: what releases cost together that are all settled beforehand.
CREATE TABLE person (id int, county text NOT NULL, age int);
INSERT INTO person SELECT i % 90, 'county ' || i % 90 % 3, i % 80 FROM generate_series(1, 500) AS i;
SELECT dp_create_dataset('census', 'person', '{id}', '{county}', epsilon_budget => 2, delta_budget => 1e-6);
SELECT dp_create_dataset('pure', 'person', '{id}', '{county}', epsilon_budget => 2);
CREATE FUNCTION times(n int, release jsonb) RETURNS jsonb LANGUAGE sql
    RETURN (SELECT jsonb_agg(release) FROM generate_series(1, n));
CREATE FUNCTION ages(epsilon float8, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql
    RETURN '{"function": "dp_range_sums", "value_column": "age", "ranges": ["[0,18)"], "method": "flat"}'::jsonb
           || jsonb_build_object('epsilon', epsilon) || more;
CREATE FUNCTION shown(dataset text, releases jsonb)
    RETURNS TABLE (exact numeric, zcdp numeric, sum numeric, delta float8, mu numeric) LANGUAGE sql
BEGIN ATOMIC
    SELECT round(epsilon_exact::numeric, 4), round(epsilon_zcdp::numeric, 4), round(epsilon_sum::numeric, 4), delta,
           round(mu::numeric, 4)
      FROM dp_plan_cost(dataset, releases);
END;

-- a single answer of each is randomized response: a binomial sum
SELECT * FROM shown('census', times(30, ages(0.1)));
SELECT * FROM shown('census', times(30, ages(0.1)) || times(4, ages(0.25)));
-- the levels of a hierarchy are answers of their own
SELECT * FROM shown('census', times(30, '{"epsilon": 0.1, "budget_shares": [0.5, 0.5]}'));
-- without a delta only the sum holds
SELECT * FROM shown('pure', times(3, ages(0.5)));
-- Gaussian noise, alone and with other
SELECT * FROM shown('census', times(30, ages(0.5, '{"delta": 1e-8, "method": "cascade"}')));
SELECT * FROM shown('census', times(30, ages(0.5, '{"delta": 1e-8, "method": "cascade"}')) || times(10, ages(0.1)));
-- their deltas are too much for the sum
SELECT * FROM shown('census', times(30, ages(0.5, '{"delta": 1e-7, "method": "cascade"}')));

-- it is never above either bound, and nothing is spent
SELECT count(*) AS plans, bool_and(c.epsilon_exact <= least(c.epsilon_zcdp, c.epsilon_sum)) AS least
  FROM unnest('{1,2,5,20,60}'::int[]) AS n, unnest('{0.001,0.01,0.3,1,2.5}'::float8[]) AS epsilon,
       dp_plan_cost('census', times(n, ages(epsilon)) || times(n, ages(epsilon / 3))) AS c;
SELECT count(*) FROM dp.ledger;
SELECT releases FROM dp_budget('census');
-- names are no matter: also what is stored counts
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('pure', 1, name => 'v1');
SELECT * FROM shown('pure', '[{"epsilon": 1, "name": "v1"}, {"dataset": "pure", "epsilon": 1, "name": "v1"}]');
-- more than is left, which is another question
SELECT epsilon_exact, epsilon_sum FROM dp_plan_cost('pure', times(5, '{"epsilon": 3}'));
SELECT releases FROM dp_budget('pure');
-- a release after it is made, not quoted
SELECT * FROM shown('pure', '[{"epsilon": 0.5}]');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('pure', 0.5);
SELECT releases FROM dp_budget('pure');
-- so is one in the same statement
SELECT (SELECT epsilon_sum FROM dp_plan_cost('pure', '[{"epsilon": 0.125}]')) AS cost,
       (SELECT count(*) > 0 FROM dp_hierarchy_release('pure', 0.125)) AS released;
SELECT releases FROM dp_budget('pure');

SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[{"dataset": "pure", "epsilon": 1}]')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[{"epsilon": 1}, {"epsilon": -1}]')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('nowhere', '[{"epsilon": 1}]')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[{"epsilon": 1, "sigma": 1}]')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[{"epsilon": 1, "function": "dp_budget"}]')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[]')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '{}')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[7]')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[{"epsilon": 1, "function": "dp_range_sums", "ranges": ["[0,18)"]}]')$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[{"epsilon": 1}]', at_delta => 2)$$);
BEGIN READ ONLY;
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[{"epsilon": 1}]')$$);
ROLLBACK;
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', NULL)$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost(NULL, '[]')$$);
CREATE ROLE plan_cost_nobody;
SET ROLE plan_cost_nobody;
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', '[{"epsilon": 1}]')$$);
RESET ROLE;
DROP ROLE plan_cost_nobody;
