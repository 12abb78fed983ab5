-- dp_set_owner: a dataset is given to another role, which may read its tables and whose rights the giver has.
CREATE ROLE dp_test_first;
CREATE ROLE dp_test_second;
CREATE ROLE dp_test_blind;
CREATE TABLE person (id int, r text);
INSERT INTO person SELECT i % 10, 'r' || i % 2 FROM generate_series(1, 100) AS i;
CREATE TABLE place AS SELECT 'r' || i AS r FROM generate_series(0, 2) AS i;
GRANT SELECT ON person, place TO dp_test_first, dp_test_second;
SET ROLE dp_test_first;
SELECT dp_create_dataset('people', 'person', '{r}', '{r}', 'place', epsilon_budget => 5, privacy_unit => 'id', max_rows_per_unit => 'auto');
SELECT count(*) > 0 AS found FROM dp_find_bound('people', 'max_rows_per_unit', 1, name => 'rows');
SELECT level, count(*) > 0 AS any FROM dp_hierarchy_release('people', 0.5, name => 'first') GROUP BY level ORDER BY level;
SELECT dp_grant('people', 'dp_test_second', 1);

-- who has not the rights of both
SELECT * FROM error_of($$SELECT dp_set_owner('people', 'dp_test_second')$$);
SET ROLE dp_test_second;
SELECT * FROM error_of($$SELECT dp_set_owner('people', 'dp_test_second')$$);
RESET ROLE;
SELECT * FROM error_of($$SELECT dp_set_owner('people', 'dp_test_blind')$$);
SELECT * FROM error_of($$SELECT dp_set_owner('people', 0)$$);
SELECT * FROM error_of($$SELECT dp_set_owner('people', NULL)$$);
SELECT * FROM error_of($$SELECT dp_set_owner('persons', 'dp_test_second')$$);
SELECT name, owner FROM dp.datasets;

GRANT dp_test_second TO dp_test_first;
SET ROLE dp_test_first;
SELECT dp_set_owner('people', 'dp_test_second');
RESET ROLE;
REVOKE dp_test_second FROM dp_test_first;
SELECT name, owner, epsilon_spent FROM dp.datasets;
-- the new owner needs no grant; what was chosen and stored holds on; the old one has nothing left
SET ROLE dp_test_second;
SELECT level, count(*) > 0 AS any FROM dp_hierarchy_release('people', 0.5) GROUP BY level ORDER BY level;
SET client_min_messages = warning;
SELECT count(*) > 0 AS served FROM dp_hierarchy_release('people', 0.5, name => 'first');
RESET client_min_messages;
SET ROLE dp_test_first;
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('people', 0.5)$$);
RESET ROLE;
SELECT epsilon_spent, releases FROM dp_budget('people');

-- tables that are others now: their owner confirms them first
ALTER TABLE person ALTER r TYPE varchar(10);
SELECT * FROM error_of($$SELECT dp_set_owner('people', 'dp_test_first')$$);
SELECT dp_confirm_dataset('people');
-- an owner that was renamed has it back
ALTER ROLE dp_test_second RENAME TO dp_test_third;
SET ROLE dp_test_third;
SELECT * FROM error_of($$SELECT dp_set_owner('people', 'dp_test_third')$$);
RESET ROLE;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('people', 0.5)$$);
SELECT dp_set_owner('people', 'dp_test_third');
SET ROLE dp_test_third;
SELECT level, count(*) > 0 AS any FROM dp_hierarchy_release('people', 0.5) GROUP BY level ORDER BY level;
RESET ROLE;
SELECT name, owner FROM dp.datasets;
SELECT * FROM dp_verify_ledger();

DROP OWNED BY dp_test_first, dp_test_third, dp_test_blind;
DROP ROLE dp_test_first, dp_test_third, dp_test_blind;
