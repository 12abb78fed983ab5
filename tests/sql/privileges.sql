-- dp_check_privileges: every way around pg_dp that it knows of, opened and closed again.
CREATE ROLE dp_test_owner;
CREATE ROLE dp_test_group;
CREATE ROLE dp_test_analyst IN ROLE dp_test_group;
GRANT CREATE ON SCHEMA public TO dp_test_owner;
SET ROLE dp_test_owner;
CREATE DOMAIN years AS int CHECK (VALUE >= 0);
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE household (household int PRIMARY KEY, state text);
CREATE TABLE person (id serial PRIMARY KEY, household int REFERENCES household, "Age" years);
CREATE TRIGGER audit BEFORE INSERT ON person FOR EACH ROW EXECUTE FUNCTION audit();
CREATE INDEX ON person (household);
INSERT INTO household SELECT i, 'A' FROM generate_series(1, 100) AS i;
INSERT INTO person (household, "Age") SELECT 1 + i % 90, i % 80 FROM generate_series(1, 1234) AS i;
SELECT dp_create_dataset('census', 'person', '{household}', '{state}', groups => 'household', epsilon_budget => 10);
SELECT dp_grant('census', 'dp_test_analyst', require_name => false);
RESET ROLE;
ANALYZE person;
SELECT pg_stat_force_next_flush();

SELECT * FROM error_of('SELECT dp_check_privileges(NULL)');
SELECT * FROM error_of('SELECT dp_check_privileges(4000000000::oid::regrole)');
SELECT code, message FROM error_of('SELECT dp_check_privileges(''dp_test_nobody'')');

-- What every role may do in a new database, and what it tells about 1234 persons. (PostgreSQL 17 adds a function that
-- tells which pages were changed.)
SELECT DISTINCT dataset, hole FROM dp_check_privileges('dp_test_analyst') WHERE hole !~ 'pages were changed' ORDER BY 2;
SELECT object, remedy FROM dp_check_privileges('dp_test_analyst') WHERE object ~ '_size|live_tuples|lock_status';
SET ROLE dp_test_analyst;
SELECT reltuples FROM pg_class WHERE relname = 'person';
SELECT n_tup_ins FROM pg_stat_all_tables WHERE relname = 'person';
SELECT pg_relation_size('person') BETWEEN 5 * 8192 AND 20 * 8192 AS size;
RESET ROLE;

-- The remedies, except that for the schema where the extension is, too, and where they would reach other databases.
CREATE FUNCTION close_holes(of regrole) RETURNS void LANGUAGE plpgsql AS $$
DECLARE statement text;
BEGIN
    FOR statement IN SELECT DISTINCT remedy FROM dp_check_privileges(of) WHERE hole !~ '^(CONNECT|USAGE on the schema)' LOOP
        EXECUTE statement;
    END LOOP;
END $$;
SELECT close_holes('dp_test_analyst');
SELECT DISTINCT hole FROM dp_check_privileges('dp_test_analyst');
SELECT DISTINCT remedy FROM dp_check_privileges('dp_test_analyst') WHERE object = 'postgres';
SET ROLE dp_test_analyst;
SELECT e.* FROM (VALUES
    ('SELECT reltuples FROM pg_class'),
    ('SELECT relpages FROM pg_class'),
    ('SELECT * FROM pg_class'),
    ('SELECT pg_table_size(''person'')'),
    ('SELECT n_live_tup FROM pg_stat_all_tables'),
    ('SELECT seq_tup_read FROM pg_stat_xact_user_tables'),
    ('SELECT idx_tup_read FROM pg_stat_user_indexes'),
    ('SELECT tup_returned FROM pg_stat_database'),
    ('SELECT pg_stat_get_buf_alloc()'),
    ('SELECT * FROM pg_stat_get_wal()'),
    ('SELECT * FROM pg_stat_get_slru()'),
    ('SELECT pg_current_wal_lsn()'),
    ('SELECT pg_logical_emit_message(false, '''', '''')'),
    ('SELECT checkpoint_lsn FROM pg_control_checkpoint()'),
    ('SELECT pg_blocking_pids(1)'),
    ('SELECT * FROM pg_locks')) AS tried(statement), error_of(statement) AS e;
-- what checks for itself whom it serves
SELECT e.code FROM (VALUES
    ('SELECT pg_create_physical_replication_slot(''s'', true)'),
    ('SELECT pg_replication_slot_advance(''s'', ''0/1'')')) AS tried(statement), error_of(statement) AS e;
-- what goes on as before
SELECT count(*) > 0 AS activity FROM pg_stat_activity;
SELECT pg_size_pretty(pg_wal_lsn_diff(max(l), '0/0')) FROM (VALUES ('0/10'::pg_lsn)) AS v(l);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 0.1);
SELECT relname, relkind FROM pg_class WHERE relname = 'person';
SELECT table_name FROM information_schema.tables WHERE table_schema = 'pg_catalog' AND table_name = 'pg_class';
\pset tuples_only on
\dt person
\pset tuples_only off
RESET ROLE;

-- Each way on its own: what the function says of it, and whether the remedy closes it. (From PostgreSQL 16 on the remedy
-- for a membership names its grantor.)
CREATE FUNCTION opened_by(statement text) RETURNS TABLE (hole text, object text, remedy text, closed boolean)
LANGUAGE plpgsql AS $$
DECLARE
    of CONSTANT regrole = 'dp_test_analyst';
BEGIN
    EXECUTE statement;
    CREATE TEMP TABLE found_hole ON COMMIT DROP AS
        SELECT f.hole, f.object, f.remedy FROM dp_check_privileges(of) AS f WHERE f.hole !~ '^(CONNECT|USAGE on the schema)';
    PERFORM close_holes(of);
    RETURN QUERY
        SELECT h.hole, h.object, replace(h.remedy, ' GRANTED BY postgres', ''),
               NOT EXISTS (SELECT FROM dp_check_privileges(of) AS f WHERE f.hole !~ '^(CONNECT|USAGE on the schema)')
          FROM found_hole AS h;
    DROP TABLE found_hole;
END $$;
\pset format unaligned

-- privileges on the table, on one column, through PUBLIC, through a group, granted on by somebody else
SELECT * FROM opened_by('GRANT SELECT, UPDATE, TRIGGER ON person TO dp_test_analyst WITH GRANT OPTION');
SELECT * FROM opened_by('GRANT DELETE, TRUNCATE, REFERENCES ON person TO PUBLIC');
SELECT * FROM opened_by('GRANT SELECT ("Age"), INSERT (household) ON person TO dp_test_group');
SELECT * FROM opened_by('GRANT SELECT (ctid) ON person TO dp_test_analyst');
CREATE ROLE dp_test_other;
GRANT SELECT ON person TO dp_test_other WITH GRANT OPTION;
SELECT * FROM opened_by('SET ROLE dp_test_other; GRANT SELECT ON person TO dp_test_analyst; RESET ROLE');
-- neighbours in foreign keys; reading the public table is no hole, but for its system column
GRANT SELECT ON household TO dp_test_analyst;
SET ROLE dp_test_analyst;
SELECT count(*) AS referred_to FROM household WHERE xmax <> 0;
RESET ROLE;
ALTER TABLE household ADD "100 %" int;
SELECT * FROM opened_by('SELECT');
SET ROLE dp_test_analyst;
SELECT code FROM error_of('SELECT xmax FROM household');
SELECT household, state, "100 %", ctid FROM household LIMIT 1;
RESET ROLE;
SELECT * FROM opened_by('GRANT SELECT (xmax) ON household TO PUBLIC');
CREATE TABLE place (household int, state text);
ALTER TABLE household INHERIT place;
SELECT * FROM opened_by('GRANT SELECT ON place TO dp_test_group');
ALTER TABLE household NO INHERIT place;
CREATE VIEW referred AS SELECT household, xmax AS by FROM household;
SELECT * FROM opened_by('GRANT SELECT ON referred TO dp_test_analyst');
DROP VIEW referred;
ALTER TABLE household DROP "100 %";
SELECT * FROM opened_by('CREATE TABLE visit (person int REFERENCES person); GRANT ALL ON visit TO dp_test_analyst');
SELECT * FROM opened_by('GRANT ALL ON household TO dp_test_analyst');
-- the sequence of its ids, and one that is only used there
SELECT * FROM opened_by('GRANT SELECT ON SEQUENCE person_id_seq TO dp_test_analyst');
CREATE SEQUENCE shared_seq;
ALTER TABLE person ADD n int DEFAULT nextval('shared_seq');
SELECT * FROM opened_by('GRANT USAGE ON SEQUENCE shared_seq TO PUBLIC');
-- partitions, children and parents
CREATE TABLE abroad () INHERITS (person);
SELECT * FROM opened_by('GRANT SELECT ON abroad TO dp_test_analyst');
CREATE TABLE anybody (household int);
ALTER TABLE person INHERIT anybody;
CREATE TABLE unrelated () INHERITS (anybody);
GRANT SELECT ON unrelated TO dp_test_analyst;
SELECT * FROM opened_by('GRANT SELECT ON anybody TO dp_test_analyst');
-- views, views of views, materialized views; not a view that reads with the rights of its reader
CREATE VIEW adult AS SELECT * FROM person WHERE "Age" > 17;
CREATE VIEW "Adults" AS SELECT count(*) FROM adult;
CREATE MATERIALIZED VIEW ages AS SELECT "Age", count(*) FROM adult GROUP BY 1;
CREATE VIEW own_rights WITH (security_invoker) AS SELECT * FROM person;
CREATE VIEW around_it AS SELECT * FROM own_rights;
GRANT SELECT ON own_rights TO dp_test_analyst;
SELECT * FROM opened_by('GRANT SELECT ON adult, "Adults", ages, around_it TO dp_test_analyst');
GRANT CREATE ON SCHEMA public TO dp_test_analyst;
-- nor one whose owner may not read: anybody can create that
SET ROLE dp_test_analyst;
CREATE VIEW mine AS SELECT * FROM person;
RESET ROLE;
SELECT * FROM opened_by('GRANT SELECT ON mine TO PUBLIC');
DROP VIEW mine;
-- where functions of pg_dp are looked up; what was made there remains
SELECT * FROM opened_by('GRANT CREATE ON SCHEMA public TO PUBLIC; GRANT CREATE, USAGE ON SCHEMA dp TO dp_test_group');
SELECT * FROM opened_by('GRANT CREATE ON DATABASE pg_dp_test_privileges TO dp_test_analyst; CREATE SCHEMA dp_test_owner;
    GRANT CREATE ON SCHEMA dp_test_owner TO dp_test_analyst');
SELECT * FROM opened_by('ALTER SCHEMA dp_test_owner OWNER TO dp_test_analyst');
SELECT * FROM opened_by('ALTER SCHEMA dp OWNER TO dp_test_analyst');
GRANT CREATE ON SCHEMA public TO dp_test_analyst;
SET ROLE dp_test_analyst;
CREATE FUNCTION add_bin(bigint, bigint, int, int) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT 1::bigint';
CREATE AGGREGATE bins_agg(bigint, int, int) (SFUNC = add_bin, STYPE = bigint);
CREATE FUNCTION dp_hierarchy_release(dataset text, epsilon numeric) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE PROCEDURE dp_budget("any number" int) LANGUAGE sql AS 'SELECT 1';
RESET ROLE;
SELECT * FROM opened_by('REVOKE CREATE ON SCHEMA public FROM dp_test_analyst');
-- a rule
CREATE TABLE tally (persons bigint);
CREATE RULE tally AS ON INSERT TO tally DO INSTEAD SELECT count(*) FROM person;
SELECT * FROM opened_by('GRANT INSERT, SELECT ON tally TO dp_test_analyst');
-- functions
SELECT * FROM opened_by('CREATE FUNCTION persons() RETURNS bigint SECURITY DEFINER
    BEGIN ATOMIC SELECT count(*) FROM person; END');
SELECT * FROM opened_by('GRANT EXECUTE ON FUNCTION pg_read_file(text), lo_import(text) TO dp_test_analyst');
-- owners: of the table, of its parts and readers, of what runs on its rows
SELECT * FROM opened_by('ALTER TABLE person OWNER TO dp_test_group');
ALTER ROLE dp_test_analyst NOINHERIT;
ALTER TABLE person OWNER TO dp_test_owner;
SELECT * FROM opened_by('GRANT dp_test_group TO dp_test_analyst; ALTER MATERIALIZED VIEW ages OWNER TO dp_test_group');
SELECT * FROM opened_by('ALTER MATERIALIZED VIEW ages OWNER TO dp_test_analyst');
SELECT * FROM opened_by('ALTER SEQUENCE shared_seq OWNER TO dp_test_analyst');
SELECT * FROM opened_by('ALTER DOMAIN years OWNER TO dp_test_analyst');
SELECT * FROM opened_by('ALTER FUNCTION audit() OWNER TO dp_test_analyst');
SELECT * FROM opened_by('CREATE FUNCTION f(years) RETURNS int IMMUTABLE LANGUAGE sql AS ''SELECT 1'';
    ALTER FUNCTION f(years) OWNER TO dp_test_analyst; CREATE INDEX ON person (f("Age"))');
SELECT * FROM opened_by('ALTER DATABASE pg_dp_test_privileges OWNER TO dp_test_analyst');
SELECT * FROM opened_by('GRANT dp_test_owner TO dp_test_analyst');
-- memberships and attributes
SELECT o.* FROM (VALUES ('pg_read_all_data'), ('pg_write_all_data'), ('pg_read_all_stats'), ('pg_monitor'),
                        ('pg_stat_scan_tables'), ('pg_read_server_files'), ('pg_write_server_files'),
                        ('pg_execute_server_program')) AS r(name),
                opened_by(format('GRANT %I TO dp_test_analyst', name)) AS o;
SELECT count(*) FILTER (WHERE closed) = CASE WHEN current_setting('server_version_num')::int < 170000 THEN 0 ELSE 2 END
           AS from_17
  FROM (VALUES ('GRANT MAINTAIN ON person TO dp_test_analyst'), ('GRANT pg_maintain TO dp_test_analyst')) AS r(statement),
       opened_by(CASE WHEN current_setting('server_version_num')::int < 170000 THEN 'SELECT' ELSE statement END);
GRANT pg_read_all_data TO dp_test_other;
SELECT * FROM opened_by('GRANT dp_test_other TO dp_test_analyst');
SELECT * FROM opened_by('GRANT pg_signal_backend, pg_read_all_settings TO dp_test_analyst');
SELECT * FROM opened_by('ALTER ROLE dp_test_analyst REPLICATION BYPASSRLS');
SELECT * FROM opened_by('ALTER ROLE dp_test_analyst SUPERUSER');
ALTER ROLE dp_test_other SUPERUSER;
SELECT * FROM opened_by('GRANT dp_test_other TO dp_test_analyst');
SELECT (count(*) > 0) = (current_setting('server_version_num')::int < 160000) AS before_16
  FROM opened_by('ALTER ROLE dp_test_analyst CREATEROLE');
ALTER ROLE dp_test_analyst NOCREATEROLE;
-- the budget, the planner's statistics, settings
SELECT * FROM opened_by('GRANT SELECT, UPDATE ON dp.dataset TO dp_test_analyst');
-- the exact counts of streams: the table, views, views of views, materialized views; not a view with the rights of its reader
CREATE VIEW counts AS SELECT n, count FROM dp.stream_count;
CREATE VIEW around_counts AS TABLE counts;
CREATE MATERIALIZED VIEW kept_counts AS TABLE around_counts;
CREATE VIEW own_counts WITH (security_invoker) AS TABLE dp.stream_count;
GRANT SELECT ON own_counts TO dp_test_analyst;
SELECT * FROM opened_by('GRANT SELECT ON dp.stream_count TO dp_test_analyst');
SELECT * FROM opened_by('GRANT SELECT (count) ON counts TO dp_test_analyst; GRANT SELECT ON around_counts, kept_counts TO PUBLIC');
SELECT * FROM opened_by('ALTER MATERIALIZED VIEW kept_counts OWNER TO dp_test_analyst');
DROP MATERIALIZED VIEW kept_counts;
DROP VIEW around_counts, counts, own_counts;
SELECT * FROM opened_by('GRANT SELECT ON pg_statistic TO dp_test_analyst;
    GRANT SELECT (stxdmcv) ON pg_statistic_ext_data TO dp_test_analyst');
SELECT * FROM opened_by('GRANT SELECT (reltuples) ON pg_class TO dp_test_analyst');
SELECT hole, object, regexp_replace(remedy, '\(.*\)', '(...)') AS remedy, closed -- the columns differ by version
  FROM opened_by('GRANT SELECT ON pg_class TO dp_test_analyst');
SELECT * FROM opened_by('GRANT SET ON PARAMETER log_min_messages TO dp_test_analyst');
-- extended statistics are shown to the owner of the table alone
CREATE STATISTICS by_age ON household, "Age", ("Age" + 1) FROM person;
ANALYZE person;
SELECT * FROM opened_by('SELECT');
SET ROLE dp_test_analyst;
SELECT count(*) FROM pg_stats_ext WHERE tablename = 'person';
SELECT count(*) FROM pg_stats_ext_exprs WHERE tablename = 'person';
SELECT count(*) FROM pg_stats WHERE tablename = 'person';
RESET ROLE;
-- extensions: what they show to everybody, to a predefined role, to whom it is granted
SELECT * FROM opened_by('CREATE EXTENSION pg_stat_statements');
SELECT * FROM opened_by('CREATE EXTENSION pgstattuple; CREATE EXTENSION pageinspect');
SELECT * FROM opened_by('GRANT EXECUTE ON FUNCTION pgstattuple(regclass) TO dp_test_group;
    GRANT dp_test_group TO dp_test_analyst');
-- Citus, which is not at hand: an extension of its name. Not what Citus needs for the queries of any role, nor what only
-- computes or changes something.
BEGIN;
SET LOCAL allow_system_table_mods = on;
INSERT INTO pg_extension SELECT 4000000000, 'citus', extowner, extnamespace, false, '13.2-1' FROM pg_extension WHERE extname = 'pg_dp';
CREATE FUNCTION citus_table_size(regclass) RETURNS bigint LANGUAGE sql RETURN 1;
CREATE FUNCTION run_command_on_workers(command text, OUT success bool, OUT result text) RETURNS SETOF record LANGUAGE sql AS 'SELECT true, $1';
CREATE FUNCTION citus_update_table_statistics(regclass) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION undistribute_table(regclass) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION citus_version() RETURNS text LANGUAGE sql RETURN '13';
CREATE FUNCTION read_intermediate_result(text) RETURNS SETOF record LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION cluster_clock_logical(int) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN 1;
DO $$
DECLARE name regprocedure;
BEGIN
    FOREACH name IN ARRAY ARRAY['citus_table_size(regclass)', 'run_command_on_workers(text)', 'citus_update_table_statistics(regclass)',
                                'undistribute_table(regclass)', 'citus_version()', 'read_intermediate_result(text)',
                                'cluster_clock_logical(int)']::regprocedure[] LOOP
        EXECUTE format('ALTER EXTENSION citus ADD FUNCTION %s', name);
    END LOOP;
END $$;
SELECT * FROM opened_by('SELECT');
ROLLBACK;
-- a foreign table
CREATE FOREIGN DATA WRAPPER dp_test_wrapper;
CREATE SERVER "Elsewhere" FOREIGN DATA WRAPPER dp_test_wrapper;
SELECT * FROM opened_by('CREATE FOREIGN TABLE far () INHERITS (person) SERVER "Elsewhere";
    GRANT USAGE ON FOREIGN SERVER "Elsewhere" TO dp_test_analyst');
SELECT * FROM opened_by('ALTER SERVER "Elsewhere" OWNER TO dp_test_analyst');
DROP FOREIGN TABLE far;
-- a materialized view as the private table: what it was made from, but not the declared groups
CREATE TABLE register (household int, name text);
CREATE MATERIALIZED VIEW resident AS SELECT household FROM register;
ALTER MATERIALIZED VIEW resident OWNER TO dp_test_owner; -- as the groups
SELECT dp_create_dataset('residents', 'resident', '{household}', '{state}', groups => 'household', epsilon_budget => 1);
SELECT * FROM opened_by('GRANT SELECT ON register, household TO dp_test_analyst');

-- plans, which are printed before the privileges on tables are checked
CREATE SCHEMA vault AUTHORIZATION dp_test_owner;
SET ROLE dp_test_owner;
CREATE TABLE vault.person AS SELECT * FROM person;
SELECT dp_create_dataset('vault', 'vault.person', '{household}', '{state}', groups => 'household', epsilon_budget => 10);
SELECT dp_grant('vault', 'dp_test_analyst', require_name => false);
GRANT USAGE ON SCHEMA vault TO dp_test_analyst;
SELECT hole, object, remedy FROM dp_check_privileges('dp_test_analyst') WHERE dataset = 'vault' AND hole ~ 'schema';
SELECT DISTINCT remedy FROM dp_check_privileges('dp_test_analyst') WHERE dataset = 'census' AND hole ~ 'schema';
REVOKE USAGE ON SCHEMA vault FROM dp_test_analyst;
SELECT count(*) FROM dp_check_privileges('dp_test_analyst') WHERE dataset = 'vault' AND hole ~ 'schema';
SET ROLE dp_test_analyst;
SELECT code, message FROM error_of('SELECT FROM vault.person');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('vault', 0.1);
RESET ROLE;
SET ROLE dp_test_owner;
SELECT dp_drop_dataset('vault');
DROP SCHEMA vault CASCADE;
RESET ROLE;

-- everybody is shown the datasets of their own: the owner this one, the analyst, who may release from it, none
SELECT DISTINCT dataset FROM dp_check_privileges('dp_test_analyst') ORDER BY 1;
SET ROLE dp_test_owner;
SELECT DISTINCT dataset FROM dp_check_privileges('dp_test_analyst') ORDER BY 1;
SELECT hole, object, remedy FROM dp_check_privileges('dp_test_owner');
SET ROLE dp_test_analyst;
SELECT count(*) FROM dp.datasets;
SELECT count(*) FROM dp_check_privileges('dp_test_analyst');
RESET ROLE;
-- a dataset whose table is gone
SET client_min_messages = warning;
DROP TABLE person CASCADE;
SELECT DISTINCT dataset, hole FROM dp_check_privileges('dp_test_analyst') ORDER BY 1;

ALTER DATABASE pg_dp_test_privileges OWNER TO CURRENT_USER;
DROP OWNED BY dp_test_owner, dp_test_group, dp_test_analyst, dp_test_other CASCADE;
DROP ROLE dp_test_owner, dp_test_group, dp_test_analyst, dp_test_other;
-- needs: pg_stat_statements pgstattuple pageinspect
