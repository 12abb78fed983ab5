-- dp_grant, dp_revoke, dp_confirm_dataset: analysts who release from tables that they cannot read.
CREATE TABLE person (id int, r text);
INSERT INTO person SELECT i % 10, 'r' || i % 2 FROM generate_series(1, 100) AS i;
SELECT dp_create_dataset('people', 'person', '{id}', '{r}', epsilon_budget => 5);
CREATE ROLE dp_test_analyst;
CREATE ROLE dp_test_team;
CREATE ROLE dp_test_member IN ROLE dp_test_team;
SELECT dp_grant('people', 'dp_test_analyst', 1, require_name => false);
SELECT dp_grant('people', 'dp_test_team');
SELECT dataset, grantee, epsilon_limit, epsilon_spent, granted_by, require_name FROM dp.grants ORDER BY grantee::text;

SET ROLE dp_test_analyst;
SELECT code, message FROM error_of('SELECT count(*) FROM person');
SELECT level, sum(groups) AS groups FROM dp_hierarchy_release('people', 0.75) GROUP BY level ORDER BY level;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('people', 0.5)$$);
SELECT level, sum(groups) AS groups FROM dp_hierarchy_release('people', 0.25, name => 'mine') GROUP BY level ORDER BY level;
SELECT count(*) > 0 AS served_free FROM dp_hierarchy_release('people', 0.25, name => 'mine');
SELECT dataset, grantee, epsilon_limit, epsilon_spent FROM dp.grants;
SELECT name, epsilon_budget, epsilon_spent FROM dp.datasets;
SELECT e.code, e.message, e.hint FROM (VALUES
    ('SELECT dp_grant(''people'', ''dp_test_analyst'', 100)'),
    ('SELECT dp_revoke(''people'', ''dp_test_team'')'),
    ('SELECT dp_confirm_dataset(''people'')'),
    ('SELECT dp_drop_dataset(''people'')'),
    ('UPDATE dp.access SET epsilon_limit = 100')) AS tried(statement), error_of(statement) AS e;
-- by the team's grant, which is for releases with a name: nothing else is charged
SET ROLE dp_test_member;
SELECT e.* FROM (VALUES
    ('dp_hierarchy_release(''people'', 1.5)'),
    ('dp_range_sums(''people'', ''id'', ''{"[0,9)"}'', 1.5)'),
    ('dp_coco_histogram(''{1:3}'', 1.5, dataset => ''people'')'),
    ('dp_range_release(''[0,9){1:3}'', 1.5, dataset => ''people'')')) AS tried(release), error_of('SELECT ' || release) AS e;
SELECT level, sum(groups) AS groups FROM dp_hierarchy_release('people', 1.5, name => 'ours') GROUP BY level ORDER BY level;
RESET ROLE;
SELECT who, epsilon FROM dp.ledger ORDER BY id;
SELECT epsilon_spent, releases FROM dp_budget('people');
-- whoever may use several grants: a release without a name goes to one that allows it, a named one to the role's own
GRANT dp_test_team TO dp_test_analyst;
SELECT dp_grant('people', 'dp_test_analyst', 2);
SELECT dp_grant('people', 'dp_test_team', 4, require_name => false);
SET ROLE dp_test_analyst;
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('people', 0.0625);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('people', 0.125, name => 'own');
SELECT grantee, epsilon_spent, epsilon_limit, require_name FROM dp.grants ORDER BY grantee::text;
RESET ROLE;
REVOKE dp_test_team FROM dp_test_analyst;
SET ROLE dp_test_analyst;
SELECT code FROM error_of($$SELECT dp_hierarchy_release('people', 0.0625)$$);
RESET ROLE;
-- a limit can be raised, but not beyond the dataset's budget
SELECT dp_grant('people', 'dp_test_analyst', 100, require_name => false);
SET ROLE dp_test_analyst;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('people', 3)$$);
RESET ROLE;
SELECT dp_revoke('people', 'dp_test_analyst');
SELECT * FROM error_of($$SELECT dp_revoke('people', 'dp_test_analyst')$$);
SELECT * FROM error_of($$SELECT dp_revoke('people', 0::regrole)$$);
SELECT * FROM error_of($$SELECT dp_grant('people', 'dp_test_analyst', -1)$$);
SELECT * FROM error_of($$SELECT dp_grant('people', NULL)$$);
SELECT * FROM error_of($$SELECT dp_grant('people', 0)$$);
SELECT * FROM error_of($$SELECT dp_grant('people', 4000000000::oid::regrole)$$);
SELECT * FROM error_of($$SELECT dp_grant('people', 'dp_test_team', require_name => NULL)$$);
SELECT * FROM error_of($$SELECT dp_grant('people', 'dp_test_nobody')$$);
SET ROLE dp_test_analyst;
-- the charges of others' datasets are the owner's to see
SELECT count(*) AS charges FROM dp.ledger;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('people', 0.1)$$);
RESET ROLE;

-- a table that was changed is refused until the owner confirms; nothing is charged
ALTER TABLE person ADD COLUMN note text; -- not a column that is used
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('people', 0.1);
ALTER TABLE person ALTER COLUMN id TYPE bigint;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('people', 0.1)$$);
SELECT dp_confirm_dataset('people');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('people', 0.1);
DROP TABLE person;
CREATE TABLE person (id bigint, r text);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('people', 0.1)$$);
SELECT * FROM error_of($$SELECT dp_confirm_dataset('people')$$);
CREATE TABLE rls (id int, r text);
SELECT dp_create_dataset('guarded later', 'rls', '{id}', '{r}', epsilon_budget => 5);
ALTER TABLE rls ENABLE ROW LEVEL SECURITY;
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('guarded later', 0.1)$$);
SELECT epsilon_spent FROM dp_budget('people');

-- the ledger is whole, and can only be added to, by anyone
SELECT * FROM dp_verify_ledger();
SELECT e.code, e.message FROM (VALUES ('UPDATE dp.charge SET epsilon = 0'), ('DELETE FROM dp.charge'), ('TRUNCATE dp.charge CASCADE'))
    AS tried(statement), error_of(statement) AS e;
ALTER TABLE dp.charge DISABLE TRIGGER append_only;
UPDATE dp.charge SET epsilon = 0.01 WHERE id = 2;
SELECT whole, problem FROM dp_verify_ledger();
UPDATE dp.charge SET epsilon = 0.25 WHERE id = 2;
SELECT whole FROM dp_verify_ledger();
DELETE FROM dp.charge WHERE id = (SELECT max(id) FROM dp.charge);
SELECT whole, problem FROM dp_verify_ledger();

-- both compositions: with a delta budget, many small releases cost less than their sum
CREATE TABLE few (id int);
SELECT dp_create_dataset('many', 'few', '{id}', '{}', epsilon_budget => 4, delta_budget => 1e-6);
SET client_min_messages = warning;
DO $$ BEGIN FOR i IN 1..50 LOOP PERFORM dp_hierarchy_release('many', 0.1); END LOOP; END $$;
RESET client_min_messages;
SELECT epsilon_sum, round(epsilon_spent, 2) AS spent, epsilon_spent < 4 AS within, round(epsilon_zcdp::numeric, 2) AS zcdp, round(rho::numeric, 3) AS rho
  FROM dp_budget('many');
-- what is left by the bound that is smaller now, and a delta
SELECT count(*) AS ranges FROM dp_range_sums('many', 'id', '{"[0,9)"}', 0.01, 1e-7, method => 'gaussian');

-- what a release says once it is made: what was charged, and the less of what the budget and the role's limit leave
SELECT dp_create_dataset('told', 'few', '{id}', '{}', epsilon_budget => 1);
SELECT dp_grant('told', 'dp_test_analyst', 0.75);
SET ROLE dp_test_analyst;
SELECT FROM dp_hierarchy_release('told', 0.25, name => 'told');
SELECT FROM dp_hierarchy_release('told', 0.25, name => 'told'); -- served, without a word
SELECT code FROM error_of($$SELECT dp_hierarchy_release('told', 1, name => 'too much')$$);
RESET ROLE;
SELECT dp_groups(dp_coco_histogram('{1:3}', 0.5, dataset => 'told')) AS groups;
SET ROLE dp_test_analyst;
SELECT FROM dp_hierarchy_release('told', 0.125, name => 'the budget has less than the limit');
RESET ROLE;
EXPLAIN ANALYZE SELECT FROM dp_hierarchy_release('told', 0.0625) \g /dev/null

DROP OWNED BY dp_test_analyst, dp_test_team, dp_test_member;
DROP ROLE dp_test_analyst, dp_test_team, dp_test_member;

-- the caller's settings and EXPLAIN show nothing of the inner query
CREATE TABLE hidden (id int);
INSERT INTO hidden SELECT i % 1000 FROM generate_series(1, 30000) AS i;
SELECT dp_create_dataset('hidden', 'hidden', '{id}', '{}', epsilon_budget => 10);
CREATE FUNCTION buffers_of(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || statement INTO plan;
    RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
END $$;
SELECT pg_relation_size('hidden') / 8192 > 100 AS many_pages, buffers_of('SELECT count(*) FROM hidden') > 100 AS read_directly,
       buffers_of($$SELECT * FROM dp_hierarchy_release('hidden', 0.1)$$) < 100 AS but_not_shown;
\set show `psql -X -q -A -t -c "SET client_min_messages = log" -c "SET debug_print_plan = on" -c "SET trace_sort = on" -c "SELECT count(*) > 0 FROM dp_hierarchy_release('hidden', 0.1)" 2>&1 | grep -c "LOG: *plan\|RTE_RELATION\|:rtekind 0"`
\echo plans that are shown, that of the calling statement alone: :show
