-- One entity counts in one group: keys that compare in more than one way. The noise of epsilon = 1e6 is 0.
CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE entity_c (k text COLLATE "C"); INSERT INTO entity_c VALUES ('A'), ('a');
CREATE TABLE groups_ci (k text COLLATE ci PRIMARY KEY, r text NOT NULL); INSERT INTO groups_ci VALUES ('A', 'r');
SELECT * FROM error_of($$SELECT dp_create_dataset('d', 'entity_c', '{k}', '{r}', 'groups_ci', epsilon_budget => 1)$$);
-- the same nondeterministic collation on both sides: 'A' and 'a' are one group, and both count
CREATE TABLE entity_ci (k text COLLATE ci); INSERT INTO entity_ci VALUES ('A'), ('a');
SELECT dp_create_dataset('ci', 'entity_ci', '{k}', '{r}', 'groups_ci', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('ci', 1e6) WHERE level = 0;

-- a type that brings an equality of its own
CREATE EXTENSION citext;
CREATE TABLE groups_cit (k citext PRIMARY KEY, r text NOT NULL);
CREATE TABLE entity_cit (k citext);
SELECT * FROM error_of($$SELECT dp_create_dataset('d', 'entity_cit', '{k}', '{r}', 'groups_cit', epsilon_budget => 1)$$);

-- unique indexes that do not make the key unique: with children, of another collation
CREATE TABLE parent (k int PRIMARY KEY, r text NOT NULL);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent VALUES (1, 'a'); INSERT INTO child VALUES (1, 'b');
CREATE TABLE entity (k int); INSERT INTO entity VALUES (1);
SELECT code, message FROM error_of($$SELECT dp_create_dataset('d', 'entity', '{k}', '{r}', 'parent', epsilon_budget => 1)$$);
CREATE TABLE groups_c (k text COLLATE ci, r text NOT NULL); CREATE UNIQUE INDEX ON groups_c (k COLLATE "C");
INSERT INTO groups_c VALUES ('A', 'a'), ('a', 'b');
SELECT code, message FROM error_of($$SELECT dp_create_dataset('d', 'entity_ci', '{k}', '{r}', 'groups_c', epsilon_budget => 1)$$);

-- values that are equal but print differently are two regions, whatever the rows' order
CREATE TABLE priced (k int, price numeric);
INSERT INTO priced VALUES (1, 1.00), (1, 1.0), (2, 1.0);
SELECT dp_create_dataset('priced', 'priced', '{k,price}', '{price}', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('priced', 1e6) WHERE level = 1;

-- foreign tables are refused, also among partitions; so are columns of another owner's tables
CREATE EXTENSION postgres_fdw;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw;
CREATE FOREIGN TABLE far (k int, r text) SERVER elsewhere;
SELECT code, message FROM error_of($$SELECT dp_create_dataset('d', 'far', '{k}', '{r}', epsilon_budget => 1)$$);
CREATE TABLE split (k int, r text) PARTITION BY LIST (r);
CREATE FOREIGN TABLE split_far PARTITION OF split FOR VALUES IN ('far') SERVER elsewhere;
SELECT code, message FROM error_of($$SELECT dp_create_dataset('d', 'split', '{k}', '{r}', epsilon_budget => 1)$$);
CREATE ROLE dp_test_other;
CREATE TABLE others_groups (k int PRIMARY KEY, r text NOT NULL);
ALTER TABLE others_groups OWNER TO dp_test_other;
SELECT * FROM error_of($$SELECT dp_create_dataset('d', 'entity', '{k}', '{r}', 'others_groups', epsilon_budget => 1)$$);

-- code of the table's owner runs as the table's owner, not as the dataset's
GRANT CREATE ON SCHEMA public TO dp_test_other;
SET SESSION AUTHORIZATION dp_test_other;
CREATE TABLE trap (k int, r text);
INSERT INTO trap VALUES (1, 'a');
CREATE SEQUENCE ran_as_dp_test_other;
CREATE FUNCTION whoami(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    PERFORM nextval('public.ran_as_' || current_user); RAISE NOTICE 'running as %', current_user; RETURN true; END $$;
CREATE INDEX ON trap (k) WHERE whoami('at planning');
SELECT setval('ran_as_dp_test_other', 1, false);
RESET SESSION AUTHORIZATION;
CREATE SEQUENCE ran_as_postgres;
SELECT dp_create_dataset('trap', 'trap', '{k}', '{r}', epsilon_budget => 1e9);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('trap', 1e6);
SELECT o.is_called AS ran_as_other, p.is_called AS ran_as_postgres FROM ran_as_dp_test_other AS o, ran_as_postgres AS p;
DROP TABLE trap, others_groups CASCADE; DROP FUNCTION whoami; DROP SEQUENCE ran_as_dp_test_other, ran_as_postgres; SELECT dp_drop_dataset('trap');
REVOKE CREATE ON SCHEMA public FROM dp_test_other;
DROP ROLE dp_test_other;

-- names that cannot be stored are refused before the charge
SELECT code, message FROM error_of(format('SELECT dp_hierarchy_release(''ci'', 0.5, name => %L)', repeat('n', 201)));
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('ci', 0.5, name => '')$$);
SELECT epsilon_spent FROM dp_budget('ci');

-- more distinct sizes than memory should hold: an error, not the end of the server
SELECT * FROM error_of('SELECT coco_agg(s) FROM generate_series(1, 6000001) AS s');
SELECT code, message FROM error_of($$SELECT ('{' || string_agg(s || ':1', ',') || '}')::coco FROM generate_series(1, 6000001) AS s$$);
SELECT dp_quantile(dp_coco_histogram(s, 1e6), 1) AS capped FROM generate_series(1, 6000001) AS s;

-- granting again does not forget what was spent
CREATE ROLE dp_test_again;
SELECT dp_grant('ci', 'dp_test_again', 1, require_name => false), dp_set_smallest_charge('ci', 1);
SET ROLE dp_test_again; SELECT count(*) > 0 AS released FROM dp_hierarchy_release('ci', 1); RESET ROLE;
SELECT dp_revoke('ci', 'dp_test_again'); SELECT dp_grant('ci', 'dp_test_again', 1, require_name => false);
SET ROLE dp_test_again; SELECT message FROM error_of($$SELECT dp_hierarchy_release('ci', 1)$$); RESET ROLE;
-- a role that was renamed is not the one that was granted
ALTER ROLE dp_test_again RENAME TO dp_test_renamed;
SET ROLE dp_test_renamed; SELECT code FROM error_of($$SELECT dp_hierarchy_release('ci', 0.1)$$); RESET ROLE;
DROP ROLE dp_test_renamed;
SELECT count(*) AS grants FROM dp.grants;

-- a change that an old snapshot does not see
CREATE TABLE swapped (k int, r text);
SELECT dp_create_dataset('swapped', 'swapped', '{k}', '{r}', epsilon_budget => 1);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) >= 0 AS snapshot_taken FROM pg_class;
\! psql -X -q -c 'ALTER TABLE swapped RENAME k TO old' -c 'ALTER TABLE swapped ADD k int DEFAULT 2'
SELECT code FROM error_of($$SELECT dp_hierarchy_release('swapped', 0.1)$$);
ROLLBACK;

-- regions that are equal by their collation but print differently are two, before and after the charge
CREATE TABLE cased AS SELECT i AS id, (CASE WHEN i % 2 = 0 THEN 'r' ELSE 'R' END || i / 2) COLLATE ci AS region
                        FROM generate_series(0, 199) AS i;
CREATE TABLE member AS SELECT id FROM cased;
SELECT dp_create_dataset('cased', 'member', '{id}', '{region}', 'cased', epsilon_budget => 1);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('cased', 0.1, consistency => 'pgsr', max_size => 400000)$$);
SELECT epsilon_spent FROM dp_budget('cased');
-- needs: icu citext postgres_fdw
