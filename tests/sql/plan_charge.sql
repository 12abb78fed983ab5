-- dp_publish(…, delta): releases that are settled beforehand are charged as one.
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL);
INSERT INTO household SELECT i, (ARRAY['Ohio', 'Utah'])[1 + i % 2] FROM generate_series(1, 90) AS i;
CREATE TABLE person (id int, age int, since date);
INSERT INTO person SELECT i % 90 + 1, i % 80, date '2026-01-01' + i % 180 FROM generate_series(1, 500) AS i;
SELECT dp_create_dataset('census', 'person', '{id}', '{state}', 'household', epsilon_budget => 3, delta_budget => 1e-6,
                         period_column => 'since');
SELECT dp_create_dataset('pure', 'person', '{id}', '{state}', 'household', epsilon_budget => 1);
-- so many releases of ages
CREATE FUNCTION ages(dataset text, prefix text, n int, epsilon float8, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql
    RETURN (SELECT jsonb_agg('{"function": "dp_range_sums", "value_column": "age", "ranges": ["[0,18)"], "method": "flat"}'::jsonb
                             || jsonb_build_object('dataset', dataset, 'name', prefix || i, 'epsilon', epsilon) || more)
              FROM generate_series(1, n) AS i);
CREATE VIEW spent AS
    SELECT name, b.epsilon_sum, round(b.epsilon_zcdp::numeric, 4) AS zcdp, b.epsilon_left, b.releases,
           (SELECT sum(l.epsilon) FROM dp.ledger AS l WHERE l.dataset = name AND l.plan IS NULL) AS entries
      FROM dp.datasets, dp_budget(name) AS b;

-- what it costs is told beforehand, tried, and charged
SELECT epsilon_exact, delta FROM dp_plan_cost('census', ages('census', 'r', 30, 0.1), 4e-7);
SELECT epsilon, already_stored, problem, count(*) FROM dp_publish_check('first', ages('census', 'r', 30, 0.1), 4e-7) GROUP BY 1, 2, 3 ORDER BY 1;
SET client_min_messages = notice;
CALL dp_publish('first', ages('census', 'r', 30, 0.1), delta => 4e-7);
RESET client_min_messages;
SELECT * FROM spent;
SELECT function, epsilon, delta, count(*), bool_and(plan = (SELECT id FROM dp.ledger WHERE function = 'dp_publish')) AS planned
  FROM dp.ledger GROUP BY 1, 2, 3 ORDER BY 1 DESC;
SELECT parameters ->> 'name' AS name, jsonb_array_length(parameters -> 'releases') AS releases FROM dp.ledger WHERE function = 'dp_publish';
SELECT count(*), sum(epsilon) FROM dp.releases WHERE status = 'published';
SELECT dp_certificate('census', 'r7') -> 'mechanism' -> 'plan' AS plan, dp_certificate('census', 'r7') -> 'parameters' ->> 'epsilon' AS epsilon;
SELECT whole, problem FROM dp_verify_ledger();
-- once
CALL dp_publish('first', ages('census', 'r', 30, 0.1), delta => 4e-7);
CALL dp_publish('first', ages('census', 'r', 30, 0.1));
SELECT releases FROM spent WHERE name = 'census';

-- more than is left: nothing is charged
SELECT * FROM error_of($$CALL dp_publish('second', ages('census', 's', 30, 0.1), delta => 4e-7)$$);
-- a dataset without a delta_budget has none for a plan
SELECT * FROM error_of($$CALL dp_publish('second', ages('pure', 's', 20, 0.05), delta => 1e-7)$$);
-- what a plan makes no cheaper is charged one by one, without its delta
CALL dp_publish('third', ages('census', 't', 2, 0.1), delta => 1e-9);
SELECT releases, epsilon_sum FROM spent WHERE name = 'census';
-- what is charged as one is charged whole: here two are charged by themselves, and not stored yet
DO $$
DECLARE
    release jsonb;
BEGIN
    PERFORM dp.quote_start();
    FOR release IN SELECT * FROM jsonb_array_elements(ages('census', 'u', 2, 0.01)) LOOP
        PERFORM dp.quote_next(true);
        BEGIN
            EXECUTE dp.release_call('fourth', release);
        EXCEPTION WHEN OTHERS THEN
        END;
    END LOOP;
    PERFORM dp.charge_quoted('fourth', ages('census', 'u', 2, 0.01), NULL);
END $$;
SELECT * FROM error_of($$CALL dp_publish('fifth', ages('census', 'u', 20, 0.01), delta => 1e-8)$$);
CALL dp_publish('fourth', ages('census', 'u', 2, 0.01), delta => 1e-8);
SELECT count(*) FROM dp.unstored_charges;
-- what dp_publish refuses is not published by what it is made of either
DO $$
BEGIN
    PERFORM dp.quote_start(), dp.quote_next(true);
    BEGIN
        PERFORM dp_stream_create('census', 'stream', 'since', date '2026-01-01', '1 day', 9, 0.01);
    EXCEPTION WHEN object_not_in_prerequisite_state THEN
    END;
    ASSERT dp.quote_next(false) = 1;
    PERFORM dp.charge_quoted('streams', '[{"dataset": "census", "name": "stream"}]', NULL);
END $$;
SELECT * FROM error_of($$CALL dp_publish('streams', '[{"dataset": "census", "function": "dp_stream_create", "name": "stream"}]')$$);
SELECT count(*) FROM dp.ledger WHERE function = 'dp_stream_create';
-- parts have a plan each
SELECT dp_create_dataset('parts', 'person', '{id}', '{state}', 'household', epsilon_budget => 3, delta_budget => 1e-6,
                         period_column => 'since');
CALL dp_publish('parts', ages('parts', 'o', 30, 0.1, '{"within": ["Ohio"]}') || ages('parts', 'u', 30, 0.1, '{"within": ["Utah"]}')
                         || ages('parts', 'p', 1, 0.125, '{"period": "[2026-02-01,2026-03-01)"}'), delta => 4e-7);
SELECT within, period, epsilon_spent, releases FROM dp_budget_cells('parts');
SELECT within, period, epsilon, parameters -> 'releases' -> 0 AS first FROM dp.ledger WHERE function = 'dp_publish' AND dataset = 'parts' ORDER BY id;
SELECT whole, problem FROM dp_verify_ledger();
-- what may fail is charged by itself
CREATE TABLE region (age int PRIMARY KEY);
SELECT dp_create_dataset('found', 'person', '{id}', '{age}', groups_private => true, regions => 'region', epsilon_budget => 5, delta_budget => 1e-6);
CALL dp_publish('found', '[{"dataset": "found", "function": "dp_find_regions", "epsilon": 0.5, "delta": 1e-8, "name": "a"},
                           {"dataset": "found", "function": "dp_find_regions", "epsilon": 0.5, "delta": 1e-8, "name": "b"}]', delta => 1e-7);
SELECT function, epsilon, delta, plan FROM dp.ledger WHERE dataset = 'found' ORDER BY id;

-- a role with a grant pays what the plan costs, and no release is smaller than it may ask for
CREATE ROLE dp_test_planner;
GRANT USAGE ON SCHEMA public TO dp_test_planner;
SELECT dp_create_dataset('granted', 'person', '{id}', '{state}', 'household', epsilon_budget => 9, delta_budget => 1e-6);
SELECT dp_grant('granted', 'dp_test_planner', 2.5);
SET ROLE dp_test_planner;
SELECT * FROM error_of($$CALL dp_publish('mine', ages('granted', 'm', 30, 0.1))$$);
SELECT * FROM error_of($$CALL dp_publish('mine', ages('granted', 'm', 60, 0.001), delta => 4e-7)$$);
CALL dp_publish('mine', ages('granted', 'm', 30, 0.1), delta => 4e-7);
RESET ROLE;
SELECT epsilon_limit, epsilon_spent FROM dp.grants WHERE dataset = 'granted';

SELECT * FROM error_of($$CALL dp_publish('none', ages('census', 'x', 2, 0.1), delta => 0)$$);
SELECT * FROM error_of($$CALL dp_publish('none', ages('census', 'x', 2, 0.1), delta => 'NaN')$$);
SELECT * FROM error_of($$SELECT * FROM dp_publish_check('none', ages('census', 'x', 2, 0.1), 1)$$);
SELECT * FROM error_of($$SELECT * FROM dp_plan_cost('census', ages('census', 'x', 2, 0.1), -1)$$);
-- a plan's entry that is changed shows, as do those that are charged with it
BEGIN;
ALTER TABLE dp.charge DISABLE TRIGGER append_only;
UPDATE dp.charge SET parameters = parameters - 'plan' WHERE id = 5;
SELECT whole, problem FROM dp_verify_ledger();
ROLLBACK;
BEGIN;
UPDATE dp.dataset SET epsilon_sum = epsilon_sum - 1 WHERE name = 'census';
SELECT whole, problem FROM dp_verify_ledger();
ROLLBACK;
-- where not the delta is too much, but the epsilon; or the delta for a role
SELECT * FROM error_of($$CALL dp_publish('second', ages('census', 's', 30, 0.1), delta => 1e-8)$$);
SELECT dp_create_dataset('limited', 'person', '{id}', '{state}', 'household', epsilon_budget => 9, delta_budget => 1e-6) \g /dev/null
SELECT dp_grant('limited', 'dp_test_planner', 5, delta_limit => 1e-7) \g /dev/null
SET ROLE dp_test_planner;
SELECT * FROM error_of($$CALL dp_publish('more', ages('limited', 'n', 30, 0.1), delta => 4e-7)$$);
RESET ROLE;
-- a plan shows that is forged with the chain and the sums
CREATE PROCEDURE forge(changed int, change jsonb) LANGUAGE plpgsql AS $$
DECLARE
    c record;
BEGIN
    UPDATE dp.charge SET parameters = parameters || change WHERE id = changed;
    FOR c IN SELECT id FROM dp.charge WHERE id >= changed ORDER BY id LOOP
        UPDATE dp.charge AS e SET hash = dp.charge_hash(
                   (SELECT p.hash FROM dp.charge AS p WHERE p.id = c.id - 1), e.id, e.epoch, e.charged_at, e.charged_by, e.dataset,
                   e.function, e.epsilon, e.delta, e.rho, e.parameters, e.nonce) WHERE e.id = c.id;
    END LOOP;
    UPDATE dp.dataset AS d SET (epsilon_sum, delta_sum, rho_sum) = (
        SELECT coalesce(sum(epsilon), 0), coalesce(sum(delta), 0), coalesce(sum(rho), 0) FROM dp.charge AS e
         WHERE e.dataset = d.id AND NOT e.parameters ? 'plan' AND NOT e.parameters ? 'cells');
END $$;
SELECT min(id) FILTER (WHERE dataset = 'census' AND function = 'dp_range_sums' AND plan IS NULL) AS alone,
       min(id) FILTER (WHERE dataset = 'granted') AS granted
  FROM dp.ledger \gset
SELECT jsonb_build_object('releases', (parameters -> 'releases') - 29) AS fewer,
       jsonb_build_object('releases', jsonb_set(parameters -> 'releases', '{3}', '"other"')) AS others
  FROM dp.ledger WHERE id = 1 \gset
BEGIN;
ALTER TABLE dp.charge DISABLE TRIGGER append_only;
-- nothing is forged yet
CALL forge(1, '{}');
SELECT whole, problem FROM dp_verify_ledger();
-- what was charged alone, with a plan; with none; with that of another dataset
SAVEPOINT before;
CALL forge(:alone, '{"plan": 1}');
SELECT whole, problem = 'entry ' || :alone || ' is not what a plan was charged for' AS told FROM dp_verify_ledger();
ROLLBACK TO before;
CALL forge(:alone, '{"plan": "none"}');
SELECT whole, problem = 'entry ' || :alone || ' is not what a plan was charged for' AS told FROM dp_verify_ledger();
ROLLBACK TO before;
CALL forge(:alone, '{"plan": null}');
SELECT whole, problem = 'entry ' || :alone || ' is not what a plan was charged for' AS told FROM dp_verify_ledger();
ROLLBACK TO before;
CALL forge(5, format('{"plan": %s}', :granted)::jsonb);
SELECT whole, problem FROM dp_verify_ledger();
ROLLBACK TO before;
-- a plan of fewer releases, of others, of none, or that cost less
CALL forge(1, :'fewer');
SELECT whole, problem FROM dp_verify_ledger();
ROLLBACK TO before;
CALL forge(1, :'others');
SELECT whole, problem FROM dp_verify_ledger();
ROLLBACK TO before;
CALL forge(1, '{"releases": 30}');
SELECT whole, problem FROM dp_verify_ledger();
ROLLBACK TO before;
UPDATE dp.charge SET charged_by = 'other' WHERE id = 7;
CALL forge(7, '{}');
SELECT whole, problem FROM dp_verify_ledger();
ROLLBACK TO before;
UPDATE dp.charge SET rho = rho / 2 WHERE id = 1;
CALL forge(1, '{}');
SELECT whole, problem FROM dp_verify_ledger();
ROLLBACK;

-- certificates tell what was charged with which others, but for drafts of others
CALL dp_set_status('granted', 'm3', 'draft');
CALL dp_set_status('granted', 'm4', 'retracted');
CREATE VIEW certified WITH (security_invoker) AS
    SELECT line FROM regexp_split_to_table(regexp_replace(dp_certificate_text('granted', 'm7'), 'rho .*|, "m1[0-9].*, "m30"', '...', 'gn'), E'\n') WITH ORDINALITY AS l (line, n)
     WHERE n BETWEEN 5 AND 7;
GRANT SELECT ON certified TO dp_test_planner;
SELECT * FROM certified;
SELECT (dp_certificate('granted', 'm7') -> 'charged_as_one') - 'with'::text AS one;
SET ROLE dp_test_planner;
SELECT * FROM certified;
RESET ROLE;
