-- dp_publish: several releases, charged together and shown together.
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL);
INSERT INTO household SELECT i, (ARRAY['Ohio', 'Utah'])[1 + i % 2] FROM generate_series(1, 200) AS i;
CREATE TABLE person (id int, age smallint, born date, seen timestamp, at timestamptz);
INSERT INTO person SELECT id, id % 90, date '2013-01-01' + id, timestamp '2013-01-01' + id * interval '1 hour', timestamptz '2013-01-01 00:00Z' + id * interval '1 hour' FROM household, generate_series(1, id % 7);
SELECT dp_create_dataset('large', 'person', '{id}', '{state}', 'household', epsilon_budget => 10);
SELECT dp_create_dataset('small', 'person', '{id}', '{state}', 'household', epsilon_budget => 0.5);
CREATE VIEW spent AS SELECT name, epsilon_spent, releases FROM dp.datasets WHERE name IN ('large', 'small') ORDER BY name;

-- one budget is short: nothing is charged
CREATE FUNCTION quarter(epsilon float8) RETURNS jsonb LANGUAGE sql RETURN jsonb_build_array(
    '{"dataset": "large", "epsilon": 1, "max_size": 50}'::jsonb,
    '{"dataset": "large", "name": "Q1 ages", "function": "dp_range_sums", "value_column": "age", "ranges": ["[0,10)", "[10,90)"], "epsilon": 0.5}'::jsonb,
    jsonb_build_object('dataset', 'small', 'epsilon', epsilon, 'max_size', 50));
SELECT * FROM error_of($$CALL dp_publish('Q1', quarter(0.6))$$);
TABLE spent;
SELECT count(*) FROM dp.ledger;
SELECT name FROM dp.publications;
SELECT * FROM dp_publish_check('Q1', quarter(0.6));
SELECT * FROM dp_publish_check('Q1', quarter(0.4));
-- two that fit each by itself and not together
SELECT * FROM dp_publish_check('x', '[{"dataset": "small", "epsilon": 0.3}, {"dataset": "small", "epsilon": 0.3, "name": "y"}]');
-- what is no release is the problem of its row
SELECT * FROM dp_publish_check('x', '[{"dataset": "small", "epsilon": 0.3}, 5, {"dataset": ["small"]}, {"dataset": null}, {"epsilon": 1}, {"epsilon": 2}, {"dataset": "small", "name": true}, {"dataset": "small", "name": "y", "epsilon": 1e400}, {"dataset": "small", "name": "z", "estimators": [["Hc"]]}]');
SELECT dataset, left(problem, 30) AS problem FROM dp_publish_check('x', (repeat('[', 900) || repeat(']', 900))::jsonb);
-- it is not tried where nothing could be charged
BEGIN READ ONLY;
SELECT * FROM error_of($$SELECT * FROM dp_publish_check('x', '[{"dataset": "small", "epsilon": 0.3}]')$$);
ROLLBACK;
-- what PostgreSQL takes as jsonb, and is more than is read
SELECT * FROM error_of($$SELECT dp.try_quoted('x', (repeat('[', 900) || repeat(']', 900))::jsonb, NULL)$$);
SELECT * FROM error_of($$SELECT dp.try_quoted('x', '[{"dataset": "small", "epsilon": 1e400}]', NULL)$$);
SELECT * FROM error_of($$CALL dp_publish('x', '[{"dataset": "small", "epsilon": 0.3}, {"dataset": "small", "epsilon": 0.3, "name": "y"}]')$$);
TABLE spent;

-- all is charged once, also by a caller that rolls back, and shown
BEGIN;
CALL dp_publish('Q1', quarter(0.4));
SELECT dataset, name, status FROM dp.releases ORDER BY dataset, name;
ROLLBACK;
TABLE spent;
SELECT dataset, name, epsilon, status, function FROM dp.releases ORDER BY dataset, name;
SELECT name, made_by, published_at >= made_at AS in_order, jsonb_array_length(releases) AS releases FROM dp.publications;
CALL dp_publish('Q1', quarter(0.4));
TABLE spent;
SELECT * FROM dp_publish_check('Q1', quarter(0.4));
-- a release of it by itself is that of the publication
SELECT count(*) > 0 AS served FROM dp_hierarchy_release('large', 1, max_size => 50, name => 'Q1');
TABLE spent;
-- the name is of these releases; what is stored already costs nothing in another publication
SELECT * FROM error_of($$CALL dp_publish('Q1', quarter(0.3))$$);
SELECT * FROM error_of($$CALL dp_publish('Q1', quarter(0.4) - 2)$$);
CALL dp_publish('again', '[{"dataset": "large", "epsilon": 1, "max_size": 50, "name": "Q1"}]');
TABLE spent;

-- half-way: what is charged and not stored is a draft, is not shown, and is made by the same call; the first stays hidden
ALTER TABLE dp.release_sum ADD CONSTRAINT broken CHECK (grain <> '77') NOT VALID;
CREATE FUNCTION half() RETURNS jsonb LANGUAGE sql RETURN
    '[{"dataset": "large", "epsilon": 0.25}, {"dataset": "large", "name": "Q2 ages", "function": "dp_range_sums", "value_column": "age", "ranges": ["[0,77)"], "epsilon": 0.25, "method": "flat"}]'::jsonb;
SELECT * FROM error_of($$CALL dp_publish('Q2', half())$$);
TABLE spent;
SELECT name, attempts FROM dp.unstored_charges;
SELECT name, status FROM dp.releases WHERE name LIKE 'Q2%';
SELECT name, published_at IS NULL AS incomplete FROM dp.publications WHERE name = 'Q2';
CREATE ROLE dp_test_reader;
SET ROLE dp_test_reader;
SELECT name, status FROM dp.releases WHERE name LIKE 'Q2%';
SELECT count(*) FROM dp.release_rows WHERE release LIKE 'Q2%';
SELECT count(*) FROM dp.publications WHERE name = 'Q2';
RESET ROLE;
SELECT * FROM dp_publish_check('Q2', half());
SELECT dp.show_publication('Q2');
ALTER TABLE dp.release_sum DROP CONSTRAINT broken;
CALL dp_publish('Q2', half());
TABLE spent;
SET ROLE dp_test_reader;
SELECT name, status FROM dp.releases WHERE name LIKE 'Q2%' ORDER BY name;
SELECT count(*) FROM dp.publications WHERE name = 'Q2';
RESET ROLE;
-- the owner may take one back; the publication does not bring it up again
CALL dp_set_status('large', 'Q2 ages', 'draft');
-- nor is its name told by that of the publication
SELECT releases FROM dp.publications WHERE name = 'Q2';
SET ROLE dp_test_reader;
SELECT releases FROM dp.publications WHERE name = 'Q2';
RESET ROLE;
CALL dp_publish('Q2', half());
SELECT name, status FROM dp.releases WHERE name LIKE 'Q2%' ORDER BY name;
CALL dp_set_status('large', 'Q2', 'retracted');
SELECT * FROM error_of($$CALL dp_publish('Q2', half())$$);

-- all types of ranges, arrays, NULLs; from PL/pgSQL, in a transaction and in a block with an exception handler
DO $$
BEGIN
    CALL dp_publish('types', '[
        {"dataset": "large", "name": "days", "function": "dp_range_sums", "value_column": "born", "ranges": ["[2013-01-01,2013-02-01)"], "bin_width": "1 day", "epsilon": 0.1, "delta": 0},
        {"dataset": "large", "name": "hours", "function": "dp_range_sums", "value_column": "seen", "ranges": ["[2013-01-01,2013-02-01)"], "bin_width": "1 hour", "epsilon": 0.1, "bounds": null},
        {"dataset": "large", "name": "zoned", "function": "dp_range_sums", "value_column": "at", "ranges": ["[2013-01-01,2013-02-01)"], "bin_width": "1 hour", "epsilon": 0.1},
        {"dataset": "large", "name": "shares", "estimators": ["Hc", "Hg"], "budget_shares": [0.4, 0.6], "epsilon": "0.1", "max_size": 50, "keep_measurements": false}]');
EXCEPTION WHEN division_by_zero THEN NULL;
END $$;
SELECT name, parameters ->> 'value_type' AS value_type, parameters -> 'budget_shares' AS shares FROM dp.releases WHERE name IN ('days', 'hours', 'zoned', 'shares') ORDER BY name;
TABLE spent;

-- what cannot be published
SELECT * FROM error_of($$CALL dp_publish(NULL, '[]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', NULL)$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[]', NULL)$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '{"dataset": "large", "epsilon": 1}')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[1]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"epsilon": 1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('', '[{"dataset": "large", "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "epsilon": 0.1}, {"dataset": "large", "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "epsilon": 0.1, "evil\" => pg_sleep(1)--": 1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "function": "pg_sleep", "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "function": "dp_range_sums", "value_column": "state", "ranges": ["[0,1)"], "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "epsilon": "much"}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "function": "dp_range_sums", "value_column": "aeg", "ranges": ["[0,1)"], "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "gone", "function": "dp_range_sums", "value_column": "age", "ranges": ["[0,1)"], "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "function": "dp_range_sums", "value_column": "age", "ranges": [[0,18],[18,65]], "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "function": "dp_range_sums", "value_column": "age", "ranges": "[0,18)", "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "function": "dp_range_sums", "value_column": "age", "ranges": [], "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "function": "dp_range_sums", "value_column": "born", "ranges": ["[2013-01-01,2013-01-02)"], "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "name": null}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "name": true, "epsilon": 0.1}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "epsilon": 1e400}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "epsilon": [1]}]')$$);
SELECT * FROM error_of($$CALL dp_publish('e', '[{"dataset": "large", "epsilon": 0.1}, {"dataset": "nowhere", "epsilon": 1}]')$$);
SELECT * FROM dp_publish_check('e', '[{"dataset": "large", "epsilon": 0.1}, {"dataset": "nowhere", "epsilon": 1}, {"dataset": "large", "epsilon": -1, "name": "f"}]');
TABLE spent;
-- drafts: made, reviewed by the owner, and shown by the same call without draft
CALL dp_publish('drafts', '[{"dataset": "large", "epsilon": 0.1}, {"dataset": "large", "epsilon": 0.1, "name": "draft 2"}]', draft => true);
SELECT name, status, released_by, publication FROM dp.releases WHERE publication = 'drafts' ORDER BY name;
SET ROLE dp_test_reader;
SELECT count(*) FROM dp.releases WHERE publication = 'drafts';
RESET ROLE;
CALL dp_publish('drafts', '[{"dataset": "large", "epsilon": 0.1}, {"dataset": "large", "epsilon": 0.1, "name": "draft 2"}]');
SET ROLE dp_test_reader;
SELECT count(*) FROM dp.releases WHERE publication = 'drafts';
RESET ROLE;
SELECT release, status, set_by FROM dp.release_history WHERE release IN ('drafts', 'draft 2') ORDER BY release;
TABLE spent;
-- a quote that is left over does no harm, and is gone with its statement
SELECT dp.quote_start(), dp.quote_next(true);
SELECT * FROM error_of($$SELECT dp.quote_next(true), dp_hierarchy_release('large', 0.1, name => 'quoted')$$);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('large', 0.1, name => 'quoted');
TABLE spent;

-- a role with a grant publishes for itself: names of publications are one for each role
SELECT dp_grant('large', 'dp_test_reader', 0.4);
SET ROLE dp_test_reader;
CALL dp_publish('Q1', '[{"dataset": "large", "epsilon": 0.3, "name": "theirs"}]');
SELECT * FROM error_of($$CALL dp_publish('Q3', '[{"dataset": "large", "epsilon": 0.3, "name": "more"}]')$$);
SELECT * FROM error_of($$CALL dp_publish('Q3', '[{"dataset": "small", "epsilon": 0.3, "name": "more"}]')$$);
SELECT * FROM dp_publish_check('Q3', '[{"dataset": "large", "epsilon": 0.3, "name": "more"}, {"dataset": "small", "epsilon": 0.3}]');
RESET ROLE;
SELECT name, made_by, published_at IS NOT NULL AS published FROM dp.publications ORDER BY name, made_by;

-- who has no grant any more shows no draft; whose publication it is does not help
SET ROLE dp_test_reader;
CALL dp_publish('begun', '[{"dataset": "large", "epsilon": 0.05, "name": "begun"}]', draft => true);
RESET ROLE;
SELECT dp_revoke('large', 'dp_test_reader');
SET ROLE dp_test_reader;
SELECT dp.show_publication('begun');
RESET ROLE;
SELECT name, status FROM dp.releases WHERE name = 'begun';
SELECT dp_grant('large', 'dp_test_reader', 0.4);
SET ROLE dp_test_reader;
SELECT dp.show_publication('begun');
RESET ROLE;
SELECT name, status FROM dp.releases WHERE name = 'begun';

-- what another role releases meanwhile is made, and not quoted for whoever called; what is not quoted is not published
CREATE FUNCTION theirs() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET client_min_messages = warning
    AS $$SELECT count(*) FROM dp_hierarchy_release('small', 0.01, name => 'by a function')$$;
SET ROLE dp_test_reader;
SELECT dp.quote_start(), dp.quote_next(true), theirs() > 0 AS made, dp.quote_next(false);
SELECT * FROM error_of($$SELECT dp.charge_quoted('mine', '[{"dataset": "small", "name": "nothing of mine"}]', NULL)$$);
SELECT * FROM error_of($$SELECT dp.charge_quoted('mine', '[]', NULL)$$);
SELECT dp.show_publication('mine');
RESET ROLE;
-- one quote for each release; and another role's code takes none away
CREATE FUNCTION quote_and_charge(times int, meanwhile text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp.quote_start();
    FOR i IN 1 .. times LOOP
        PERFORM dp.quote_next(true);
        EXECUTE meanwhile;
        BEGIN
            PERFORM dp_hierarchy_release('large', 0.05, name => 'quoted often');
        EXCEPTION WHEN object_not_in_prerequisite_state THEN NULL;
        END;
    END LOOP;
    PERFORM dp.charge_quoted('often', '[{"dataset": "large", "name": "quoted often"}]', NULL);
END $$;
SELECT * FROM error_of($$SELECT quote_and_charge(2, 'SELECT')$$);
CREATE FUNCTION others() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'SELECT dp.quote_start()';
ALTER FUNCTION others() OWNER TO dp_test_reader;
SELECT quote_and_charge(1, 'SELECT others()');
SELECT name, attempts FROM dp.unstored_charges WHERE name = 'quoted often';
TABLE spent;
SELECT name, status, publication FROM dp.releases WHERE name = 'by a function';
-- as many as there may be, and one more
SET client_min_messages = warning;
SELECT dp_create_dataset('many', 'person', '{id}', '{state}', 'household', epsilon_budget => 100);
CREATE FUNCTION many(n int) RETURNS jsonb LANGUAGE sql
    RETURN (SELECT jsonb_agg(jsonb_build_object('dataset', 'many', 'epsilon', 0.1, 'max_size', 10, 'estimators', '{Hc}'::text[], 'name', 'release ' || i)) FROM generate_series(1, n) AS i);
SELECT count(*), count(problem), round(sum(epsilon)::numeric, 9) AS epsilon FROM dp_publish_check('hundred', many(100));
CALL dp_publish('hundred', many(100));
SELECT count(*) FROM dp.releases WHERE publication = 'hundred' AND status = 'published';
SELECT epsilon_spent FROM dp_budget('many');
SELECT * FROM error_of($$CALL dp_publish('more', many(101))$$);
RESET client_min_messages;
-- a list that is changed half-way: what the first one has made the second one shows
ALTER TABLE dp.release_sum ADD CONSTRAINT broken CHECK (grain <> '77') NOT VALID;
SELECT code FROM error_of($$CALL dp_publish('Q5', '[{"dataset": "large", "epsilon": 0.25}, {"dataset": "large", "name": "Q5 ages", "function": "dp_range_sums", "value_column": "age", "ranges": ["[0,77)"], "epsilon": 0.25}]')$$);
ALTER TABLE dp.release_sum DROP CONSTRAINT broken;
CALL dp_publish('Q5 again', '[{"dataset": "large", "epsilon": 0.25, "name": "Q5"}]');
SELECT name, status, publication FROM dp.releases WHERE name LIKE 'Q5%';
-- a draft tells nothing by what it would explain
CALL dp_set_status('large', 'Q5', 'draft');
SET ROLE dp_test_reader;
SELECT * FROM error_of($$SELECT * FROM dp_explain_hierarchy('large', 1, release => 'Q5')$$);
RESET ROLE;
-- the example of every quarter: the quarter's rows where a column tells them, a release's own period, or all rows
SET client_min_messages = warning;
\i examples/quarterly/quarterly.sql
SELECT * FROM error_of($$CALL publish_quarter('2013-02-04')$$);
SELECT dp_create_dataset('dated', 'person', '{id}', '{state}', 'household', epsilon_budget => 3, period_column => 'born');
INSERT INTO quarterly
SELECT n, CASE WHEN release ~ 'range_sums' THEN '{}' ELSE '{"max_size": 50}'::jsonb END || '{"epsilon": 0.5}' || release::jsonb
  FROM unnest(ARRAY['{"dataset": "dated"}', '{"dataset": "dated", "name": "own", "period": "[2013-01-02,2013-02-01)"}',
                    '{"dataset": "dated", "name": "all", "period": null}', '{"dataset": "many"}',
                    '{"dataset": "dated", "name": "months", "function": "dp_range_sums", "value_column": "born", "bin_width": "1 day", "ranges": "months"}']) WITH ORDINALITY AS r (release, n);
CALL publish_quarter('2013-05-04');
SELECT dataset, name, parameters ->> 'period' AS period FROM dp.releases WHERE publication = '2013 Q2' ORDER BY dataset, name;
SELECT lower_bound, upper_bound FROM dp.range_rows WHERE release = '2013 Q2 months' ORDER BY lower_bound;
-- a quarter that has not ended is refused, today's and later ones; without a day it is the last one that has
SELECT code, replace(message, to_char(day, 'YYYY "Q"Q'), 'the quarter') AS message, hint
  FROM unnest(ARRAY[current_date, (date_trunc('quarter', current_date) + interval '3 months')::date]) AS day,
       error_of(format('CALL publish_quarter(%L)', day));
CALL publish_quarter();
SELECT name = to_char(current_date - interval '3 months', 'YYYY "Q"Q') AS last_quarter FROM dp.publications WHERE name ~ '^\d+ Q\d$' ORDER BY name DESC LIMIT 1;
RESET client_min_messages;
SELECT entries, whole FROM dp_verify_ledger();
SELECT dp_revoke('large', 'dp_test_reader');
