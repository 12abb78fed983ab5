-- dp_raise_budget: deeds
CREATE TABLE few (id int);
CREATE ROLE dp_test_analyst;
CREATE ROLE dp_test_team;
-- a deed raises the budget, not the limit; it is not taken back, and is no release
SELECT dp_create_dataset('raised', 'few', '{id}', '{}', epsilon_budget => 1) \g /dev/null
SELECT dp_grant('raised', 'dp_test_analyst', 0.5, require_name => false), dp_grant('raised', 'dp_test_team', require_name => false) \g /dev/null
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('raised', 1);
BEGIN;
SELECT dp_raise_budget('raised', 'the first', epsilon => 0.75);
ROLLBACK;
SELECT dp_raise_budget('raised', 'the second', delta => 1e-9);
SELECT epsilon_budget, epsilon_left, delta_budget, releases FROM dp_budget('raised');
SET ROLE dp_test_analyst;
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('raised', 0.75)$$);
SELECT code, message FROM error_of($$SELECT dp_raise_budget('raised', 'mine', 1)$$);
RESET ROLE;
SET ROLE dp_test_team;
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('raised', 0.75);
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('raised', 0.01)$$);
RESET ROLE;
SELECT function, epsilon, delta, parameters FROM dp.ledger WHERE dataset = 'raised' AND function = 'dp_raise_budget' ORDER BY id;
SELECT whole, problem FROM dp_verify_ledger();
SELECT message FROM unnest(ARRAY[
    $$'raised', ' ', 1$$, $$'raised', repeat('x', 1001), 1$$, $$'raised', 'none'$$, $$'raised', 'none', 0, 0$$, $$'raised', 'less', -1$$, $$'raised', 'much', 'Infinity'$$,
    $$'raised', 'none', 0, 'NaN'$$, $$'raised', 'all', 0, 1$$, $$'raised', 'sure', 0, 0.9999999999$$, $$'raised', NULL, 1$$, $$'none', 'why', 1$$]) AS a,
    error_of('SELECT dp_raise_budget(' || a || ')');
BEGIN; -- the ledger cannot know it yet
SELECT dp_create_dataset('new', 'few', '{id}', '{}', epsilon_budget => 1) \g /dev/null
SELECT dp_raise_budget('new', 'too early', 1);
ROLLBACK;
UPDATE dp.dataset SET epsilon_budget = 5 WHERE name = 'raised'; -- as a superuser might
SELECT whole, problem LIKE 'the budget of dataset number%' AS told FROM dp_verify_ledger();
UPDATE dp.dataset SET epsilon_budget = 1.75 WHERE name = 'raised';
SELECT whole FROM dp_verify_ledger();

-- each digit of what adds up is kept, and none that nobody reads is added
SELECT dp_create_dataset('digits', 'few', '{id}', '{}', epsilon_budget => 1e6) \g /dev/null
SELECT dp_raise_budget('digits', repeat(' ', 1000000) || 'blanks' || repeat(E'\n', 9), added)
  FROM unnest('{0.3333333333333333,0.30000000000000004,1e-12,1e-30}'::float8[]) AS added \g /dev/null
SELECT epsilon_budget FROM dp_budget('digits');
SELECT parameters->>'reason' AS reason, parameters->'epsilon_budget'->>1 AS budget FROM dp.ledger WHERE dataset = 'digits' ORDER BY id;
SELECT whole, problem FROM dp_verify_ledger();
SELECT message FROM unnest('{1e-31,1e300}'::text[]) AS a, error_of(format($$SELECT dp_raise_budget('digits', 'no', %s)$$, a));
SELECT dp_create_dataset('vast', 'few', '{id}', '{}', epsilon_budget => 1.7e308) \g /dev/null
SELECT dp_raise_budget('vast', 'beyond all numbers', 1.7e308);

DROP OWNED BY dp_test_analyst, dp_test_team;
DROP ROLE dp_test_analyst, dp_test_team;
