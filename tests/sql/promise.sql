-- A name is a promise: what is charged under it is stored, whatever the caller's transaction does.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
\set VERBOSITY sqlstate
CREATE TABLE household (household int PRIMARY KEY, state text NOT NULL);
INSERT INTO household SELECT i, 'state ' || i % 3 FROM generate_series(1, 60) AS i;
CREATE TABLE person AS SELECT i % 60 + 1 AS household FROM generate_series(1, 150) AS i;
SELECT dp_create_dataset('census', 'person', '{household}', '{state}', 'household', epsilon_budget => 10);
-- what is stored, in one line, and its fingerprint beside that of what a call returns
CREATE FUNCTION stored(name text) RETURNS text LANGUAGE sql
RETURN (SELECT md5(string_agg(format('%s %s %s', path, size, groups), ',' ORDER BY level, path, size))
          FROM dp.release_rows WHERE dataset = 'census' AND release = name);
CREATE FUNCTION asked(name text, epsilon float8 DEFAULT 0.5) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT md5(string_agg(format('%s %s %s', path, size, groups), ',' ORDER BY level, path, size))
              FROM dp_hierarchy_release('census', epsilon, max_size => 50, name => name));
END $$;
CREATE VIEW spent AS SELECT epsilon_spent, releases FROM dp_budget('census');

-- rolled back: stored all the same, the same rows, one charge
BEGIN;
SELECT asked('rolled back') AS seen \gset
ROLLBACK;
SELECT asked('rolled back') = :'seen' AS same, stored('rolled back') = :'seen' AS stored, spent.* FROM spent;
-- an error later in the transaction; a savepoint; a DO block that swallows an error
BEGIN;
SELECT asked('error') AS seen \gset
SELECT 1 / 0;
ROLLBACK;
SELECT asked('error') = :'seen' AS same FROM spent;
BEGIN;
SAVEPOINT s;
SELECT asked('savepoint') AS seen \gset
ROLLBACK TO s;
SELECT asked('savepoint') = :'seen' AS same_after_savepoint;
COMMIT;
SELECT asked('savepoint') = :'seen' AS same;
DO $$ BEGIN
    PERFORM 1 / (length(asked('swallowed')) - 32);
EXCEPTION WHEN division_by_zero THEN NULL;
END $$;
SELECT asked('swallowed') = stored('swallowed') AS same, spent.* FROM spent;
-- REPEATABLE READ: its own snapshot does not show the rows, the function does
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) AS before FROM dp.releases;
SELECT asked('old snapshot') AS seen \gset
SELECT asked('old snapshot') = :'seen' AS same, stored('old snapshot') IS NULL AS not_in_the_snapshot;
COMMIT;
SELECT stored('old snapshot') = :'seen' AS stored, spent.* FROM spent;

-- READ ONLY cannot spend; what is stored is served there
BEGIN READ ONLY;
SELECT asked('rolled back') = stored('rolled back') AS served;
SELECT asked('never');
ROLLBACK;
SET default_transaction_read_only = on;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 0.5)$$);
SELECT * FROM error_of($$SELECT dp_range_sums('census', 'household', '{"[0,9)"}', 0.5)$$);
SELECT * FROM error_of($$SELECT dp_range_release('[0,9){1:3}'::bins, 0.5, dataset => 'census')$$);
SELECT * FROM error_of($$SELECT dp_coco_histogram('{1:3}'::coco, 0.5, dataset => 'census')$$);
SELECT dp_groups(dp_coco_histogram('{1:3}'::coco, 0.5)) AS without_a_dataset;
RESET default_transaction_read_only;
SELECT * FROM spent;

-- other parameters
SELECT * FROM error_of($$SELECT asked('rolled back', 0.25)$$);

-- charged and not stored: here the store is broken. Nothing of it is shown, the next call makes it without a charge
ALTER TABLE dp.release_region ADD CONSTRAINT broken CHECK (path <> '{state 1}') NOT VALID;
SELECT * FROM error_of($$SELECT asked('broken')$$);
SELECT stored('broken') IS NULL AS nothing_stored, count(*) AS releases FROM dp.releases WHERE name = 'broken';
SELECT u.dataset, u.name, u.charge = l.id AS in_ledger, u.charged_at = l."when" AS then, u.who = l.who AS who, u.function,
       u.epsilon, u.delta, u.parameters, u.attempts
  FROM dp.unstored_charges AS u JOIN dp.ledger AS l ON l.parameters ->> 'name' = u.name;
SELECT * FROM error_of($$SELECT asked('broken', 0.25)$$);
SELECT * FROM error_of($$SELECT * FROM dp_explain_hierarchy('census', 1, release => 'broken')$$);
SELECT * FROM error_of($$SELECT * FROM dp_hierarchy_intervals('census', 'broken')$$);
SELECT * FROM error_of($$SELECT asked('broken')$$);
SELECT attempts FROM dp.unstored_charges;
-- not in READ ONLY, as it would be stored
BEGIN READ ONLY;
SELECT asked('broken');
ROLLBACK;
ALTER TABLE dp.release_region DROP CONSTRAINT broken;
-- not resumed by another role with a grant, which could use the attempts up; the owner alone sees what is unstored
CREATE ROLE dp_test_promise;
SELECT dp_grant('census', 'dp_test_promise', epsilon_limit => 0.25);
SET ROLE dp_test_promise;
SELECT count(*) AS unstored FROM dp.unstored_charges;
SELECT * FROM error_of($$SELECT asked('broken')$$);
SELECT epsilon_spent FROM dp.grants;
SELECT * FROM error_of($$SELECT asked('new')$$);
RESET ROLE;
SELECT attempts FROM dp.unstored_charges;
-- resumed, without a word of a charge
SET client_min_messages = notice;
SELECT asked('broken') = stored('broken') AS same;
SET client_min_messages = warning;
SELECT (SELECT count(*) FROM dp.unstored_charges) AS unstored, spent.* FROM spent;

-- begun five times at most, so that how long it takes is not sampled for ever
ALTER TABLE dp.release_region ADD CONSTRAINT broken CHECK (path <> '{state 1}') NOT VALID;
SELECT e.code, count(*) FROM generate_series(1, 5) AS i, error_of(format($$SELECT asked('often') -- %s$$, i)) AS e GROUP BY code;
ALTER TABLE dp.release_region DROP CONSTRAINT broken;
SELECT attempts FROM dp.unstored_charges;
SELECT * FROM error_of($$SELECT asked('often')$$);
-- a server that was restored, promoted or copied may not know what was shown; what is charged must be what is measured
UPDATE dp.release SET attempts = 1 WHERE name = 'often';
UPDATE dp.epoch SET identity = 'not ' || identity;
SELECT * FROM error_of($$SELECT asked('often')$$);
UPDATE dp.epoch SET identity = substr(identity, 5);
ALTER TABLE dp.charge DISABLE TRIGGER append_only;
UPDATE dp.charge SET rho = rho * 2 WHERE parameters ->> 'name' = 'often';
SELECT * FROM error_of($$SELECT asked('often')$$);
UPDATE dp.charge SET rho = rho / 2 WHERE parameters ->> 'name' = 'often';
ALTER TABLE dp.charge ENABLE ALWAYS TRIGGER append_only;
SELECT asked('often') = stored('often') AS same, spent.* FROM spent;

SELECT whole, problem FROM dp_verify_ledger();
-- a dataset that is dropped: no more promises
ALTER TABLE dp.release_region ADD CONSTRAINT broken CHECK (path <> '{state 1}') NOT VALID;
SELECT code FROM error_of($$SELECT asked('dropped')$$);
SELECT dp_drop_dataset('census');
SELECT count(*) AS unstored FROM dp.unstored_charges;
DROP OWNED BY dp_test_promise;
DROP ROLE dp_test_promise;
