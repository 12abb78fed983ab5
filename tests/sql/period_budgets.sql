-- dp_open_period: budgets of periods, limits of roles in them, and of delta. Against a model: tests/attacks/periods
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL);
INSERT INTO household SELECT i, (ARRAY['CA', 'NY'])[i % 2 + 1] FROM generate_series(1, 40) AS i;
CREATE TABLE person (id int, age int, quarter date);
INSERT INTO person SELECT i % 40 + 1, i % 90, date '2026-01-01' + 90 * (i % 4) FROM generate_series(1, 800) AS i;
CREATE ROLE dp_test_analyst;
CREATE ROLE dp_test_team;
CREATE FUNCTION declare_dataset(name text, epsilon float8, delta float8 DEFAULT 0) RETURNS void LANGUAGE sql
BEGIN ATOMIC
    SELECT dp_create_dataset(declare_dataset.name, 'person', '{id}', '{state}', 'household', epsilon_budget => epsilon,
                             delta_budget => delta, period_column => 'quarter');
END;
SELECT declare_dataset('census', 4) \g /dev/null

-- opening is a deed: not taken back, no release; then it bounds whatever overlaps it
BEGIN;
SELECT dp_open_period('census', '[2026-01-01,2026-03-31]', 1);
ROLLBACK;
SELECT dp_open_period('census', '[2026-04-01,2026-07-01)');
SELECT * FROM dp_budget_periods('census');
SELECT function, epsilon, delta, period, parameters - 'period' AS parameters FROM dp.ledger WHERE dataset = 'census' ORDER BY id;
SELECT releases FROM dp_budget('census');
SELECT count(*) FROM dp_range_sums('census', 'age', '{"[0,18)"}', 0.5, within => '{NY}');
SELECT count(*) FROM dp_range_sums('census', 'age', '{"[0,18)"}', 0.25, period => '[2026-03-31,2026-05-01)', within => '{CA}');
SELECT count(*) FROM dp_range_sums('census', 'age', '{"[0,18)"}', 0.25);
SELECT count(*) FROM dp_range_sums('census', 'age', '{"[0,18)"}', 2, period => '[2026-04-01,)');
SELECT * FROM dp_budget_periods('census');
SELECT dp_hierarchy_release('census', 0.5);
SELECT dp_hierarchy_release('census', 0.75, within => '{CA}');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 0.5, within => '{CA}');
SELECT dp_range_sums('census', 'age', '{"[0,18)"}', 0.5, within => '{NY}', period => '[2026-03-31,2027-01-01)');
SELECT epsilon_budget, epsilon_left FROM dp_budget('census');
SELECT * FROM dp_publish_check('both', '[{"dataset": "census", "epsilon": 0.25, "name": "a"}, {"dataset": "census", "epsilon": 0.25, "name": "b"}, {"dataset": "census", "epsilon": 0.25, "name": "c"}]');

-- more for the same rows by a deed alone, which names the period as it was opened
SELECT dp_raise_budget('census', 'why', 0.5, period => '[2026-01-01,2026-04-01)');
SELECT dp_raise_budget('census', 'why', 0.5, period => '[2026-01-01,2026-03-31)');
SELECT dp_raise_budget('census', 'why', 0.5, period => '[2026-04-01,2026-07-01)');
SELECT dp_raise_budget('census', 'why', 5, period => '[2026-01-01,2026-04-01)');
SELECT dp_raise_budget('census', 'why', 0.5, 1e-9, period => '[2026-01-01,2026-04-01)');
SELECT period, epsilon_budget, epsilon_left FROM dp_budget_periods('census');
SELECT whole, problem FROM dp_verify_ledger();

-- refusals
SELECT dp_create_dataset('units', 'person', '{id}', '{}', 'household', epsilon_budget => 4, privacy_unit => 'age', max_rows_per_unit => 2, period_column => 'quarter') \g /dev/null
SELECT dp_create_dataset('timeless', 'person', '{id}', '{}', epsilon_budget => 4) \g /dev/null
SELECT a, code, message FROM unnest(ARRAY[
    $$'units', '[2026-01-01,2026-04-01)'$$, $$'timeless', '[2026-01-01,2026-04-01)'$$, $$'none', '[,2026-04-01)'$$, $$'census', NULL$$,
    $$'census', '(,)'$$, $$'census', '[2026-01-01,2026-01-01)'$$, $$'census', 'spring'$$, $$'census', '[infinity,)'$$,
    $$'census', '[2026-03-01,2026-09-01)'$$, $$'census', '[2027-01-01,)'$$, $$'census', '[2027-01-01,2028-01-01)', 0$$, $$'census', '[2027-01-01,2028-01-01)', -1$$, $$'census', '[2027-01-01,2028-01-01)', 'NaN'$$,
    $$'census', '[2027-01-01,2028-01-01)', 4.5$$, $$'census', '[2027-01-01,2028-01-01)', 1, 1e-9$$, $$'census', '[2027-01-01,2028-01-01)', 1, 1$$,
    $$'census', '[2026-07-01,2026-10-01)', 2.5$$]) AS a,
    error_of('SELECT dp_open_period(' || a || ')');
SELECT dp_open_period('census', '[2026-07-01,2026-10-01)', 2.75);
BEGIN; -- the ledger cannot know it yet
SELECT declare_dataset('new', 4) \g /dev/null
SELECT dp_open_period('new', '[2026-01-01,2026-04-01)', 1);
ROLLBACK;
SELECT code, message FROM unnest('{census,units,timeless}'::text[]) AS d,
    error_of(format($$SELECT dp_grant(%L, 'dp_test_analyst', period_limit => 0)$$, d));
SELECT code, message FROM unnest('{units,timeless}'::text[]) AS d,
    error_of(format($$SELECT dp_grant(%L, 'dp_test_analyst', period_limit => 1)$$, d));
SELECT code, message FROM unnest('{-1e-9,1,NaN}'::text[]) AS l,
    error_of(format($$SELECT dp_grant('census', 'dp_test_analyst', delta_limit => %L)$$, l));

-- two bounds, with the period's delta: fifty small releases cost less than their sum; a period without one has the sum alone
SELECT declare_dataset('small', 10, 1e-6) \g /dev/null
SELECT dp_open_period('small', '[2026-01-01,2026-04-01)', 4), dp_open_period('small', '[2026-04-01,2026-07-01)', 4, 0) \g /dev/null
SET client_min_messages = warning;
DO $$
DECLARE
    p text;
BEGIN
    FOREACH p IN ARRAY '{"[2026-01-01,2026-04-01)","[2026-04-01,2026-07-01)"}'::text[] LOOP
        FOR i IN 1 .. 50 LOOP
            BEGIN
                PERFORM dp_range_sums('small', 'age', '{"[0,18)"}', 0.1, within => '{CA}', period => p);
            EXCEPTION WHEN configuration_limit_exceeded THEN
            END;
        END LOOP;
    END LOOP;
END $$;
RESET client_min_messages;
SELECT period, epsilon_budget, round(epsilon_spent, 2) AS spent, delta_budget FROM dp_budget_periods('small');
SELECT message FROM error_of($$SELECT dp_range_sums('small', 'age', '{"[0,18)"}', 0.1, 1e-7, method => 'gaussian', period => '[2026-05-01,2026-06-01)')$$);
SELECT message FROM error_of($$SELECT dp_open_period('small', '[2025-01-01,2025-04-01)', 4, 1e-5)$$);

-- limits of roles, in each period and of delta; what was spent is not given back
SELECT declare_dataset('granted', 10, 1e-6) \g /dev/null
SELECT dp_open_period('granted', '[2026-01-01,2026-04-01)'), dp_open_period('granted', '[2026-04-01,2026-07-01)', 2) \g /dev/null
SELECT dp_grant('granted', 'dp_test_analyst', require_name => false, period_limit => 1, delta_limit => 2e-7) \g /dev/null
SELECT dp_grant('granted', 'dp_test_team', require_name => false, delta_limit => 0) \g /dev/null
SET ROLE dp_test_analyst;
SELECT count(*) FROM dp_range_sums('granted', 'age', '{"[0,18)"}', 0.5, within => '{CA}', period => '[2026-03-01,2026-05-01)');
SELECT count(*) FROM dp_range_sums('granted', 'age', '{"[0,18)"}', 0.25, within => '{NY}', period => '[2026-01-01,2026-02-01)');
SELECT dp_range_sums('granted', 'age', '{"[0,18)"}', 0.5, within => '{NY}', period => '[2026-03-01,2026-05-01)');
SELECT dp_range_sums('granted', 'age', '{"[0,18)"}', 0.5, within => '{NY}', period => '[2026-06-01,2026-08-01)');
SELECT dp_range_sums('granted', 'age', '{"[0,18)"}', 0.5, within => '{NY}');
SELECT count(*) FROM dp_range_sums('granted', 'age', '{"[0,18)"}', 0.25, 1e-7, method => 'gaussian', period => '[2026-05-01,2026-06-01)');
SELECT dp_range_sums('granted', 'age', '{"[0,18)"}', 0.25, 1.5e-7, method => 'gaussian', period => '[2026-05-01,2026-06-01)');
SELECT dataset, epsilon_limit, epsilon_spent, period_limit, delta_limit, delta_spent FROM dp.grants;
SELECT period, epsilon_left FROM dp_budget_periods('granted');
SELECT code, message FROM error_of('SELECT dp_budget_periods(''census'')');
RESET ROLE;
SELECT dp_revoke('granted', 'dp_test_analyst'), dp_grant('granted', 'dp_test_analyst', 9, false, 1.5) \g /dev/null
SET ROLE dp_test_analyst;
SELECT message FROM error_of($$SELECT dp_range_sums('granted', 'age', '{"[0,18)"}', 1, within => '{NY}', period => '[2026-06-01,2026-08-01)')$$);
SELECT count(*) FROM dp_range_sums('granted', 'age', '{"[0,18)"}', 1, within => '{NY}', period => '[2026-07-01,2026-08-01)');
RESET ROLE;
SET ROLE dp_test_team;
SELECT message FROM error_of($$SELECT dp_range_sums('granted', 'age', '{"[0,18)"}', 0.25, 1e-7, method => 'gaussian')$$);
SELECT dp_range_sums('granted', 'age', '{"[0,18)"}', 0.25, period => '[2026-05-01,2026-06-01)');
SELECT count(*) FROM dp_range_sums('granted', 'age', '{"[0,18)"}', 0.25);
RESET ROLE;
SELECT grantee, epsilon_limit, epsilon_spent, period_limit, delta_limit, delta_spent FROM dp.grants ORDER BY grantee::text;

-- where groups have moved, or the tables were changed and confirmed, what was charged before counts in all regions, and in all periods
SELECT declare_dataset('moved', 10) \g /dev/null
SELECT dp_open_period('moved', '[2026-01-01,2026-04-01)', 1), dp_open_period('moved', '[2026-04-01,2026-07-01)', 1) \g /dev/null
SELECT count(*) FROM dp_range_sums('moved', 'age', '{"[0,18)"}', 0.75, within => '{CA}', period => '[2026-01-01,2026-04-01)');
UPDATE household SET state = 'NY' WHERE id = 2;
SELECT message FROM error_of($$SELECT dp_range_sums('moved', 'age', '{"[0,18)"}', 0.5, within => '{NY}', period => '[2026-01-01,2026-02-01)')$$);
SELECT count(*) FROM dp_range_sums('moved', 'age', '{"[0,18)"}', 0.25, within => '{NY}', period => '[2026-04-01,2026-05-01)');
ALTER TABLE household ALTER COLUMN state TYPE varchar;
SELECT dp_confirm_dataset('moved') \g /dev/null
SELECT message FROM error_of($$SELECT dp_range_sums('moved', 'age', '{"[0,18)"}', 0.5)$$);
SELECT message FROM error_of($$SELECT dp_range_sums('moved', 'age', '{"[0,18)"}', 0.5, period => '[2026-04-01,2026-05-01)')$$);
SELECT count(*) FROM dp_range_sums('moved', 'age', '{"[0,18)"}', 0.25);
SELECT period, epsilon_left FROM dp_budget_periods('moved');
SELECT whole, problem FROM dp_verify_ledger();

-- a dropped dataset's periods stay with its ledger, and are no other one's
SELECT dp_drop_dataset('moved') \g /dev/null
SELECT declare_dataset('moved', 10) \g /dev/null
SELECT count(*) FROM dp_budget_periods('moved');
SELECT dp_open_period('moved', '[2026-03-01,2026-05-01)', 1);
SELECT whole, problem FROM dp_verify_ledger();

-- dp_publish_check tells of each release what is left of what binds it: to the owner of the fullest cell, in its opened periods or not, to
-- a role of its limits, too
SELECT declare_dataset('checked', 10) \g /dev/null
SELECT dp_open_period('checked', '[2026-01-01,2026-04-01)', 4), dp_open_period('checked', '[2026-04-01,2026-07-01)', 2) \g /dev/null
SELECT dp_grant('checked', 'dp_test_analyst', 3, false, 1) \g /dev/null
SELECT count(*) FROM dp_range_sums('checked', 'age', '{"[0,18)"}', 1.25, within => '{CA}', period => '[2026-04-01,2026-07-01)');
CREATE VIEW checked WITH (security_invoker) AS
    SELECT p.part, c.epsilon, c.epsilon_left, c.problem IS NULL AS fits
      FROM (VALUES (1, '{}'::jsonb), (2, '{"within": ["NY"], "period": "[2026-05-01,2026-06-01)"}'), (3, '{"within": ["CA"], "period": "[2026-05-01,2026-06-01)"}'),
                   (4, '{"period": "[2026-02-01,2026-03-01)"}'), (5, '{"period": "[2026-07-01,2026-10-01)"}')) AS p (n, part),
           dp_publish_check('Q', jsonb_build_array('{"dataset": "checked", "function": "dp_range_sums", "value_column": "age", "ranges": ["[0,18)"], "epsilon": 0.875}'::jsonb || p.part)) AS c
     ORDER BY p.n;
GRANT SELECT ON checked TO dp_test_analyst;
SELECT * FROM checked;
SET ROLE dp_test_analyst;
SELECT * FROM checked;
RESET ROLE;
SELECT releases FROM dp_budget('checked');

DROP OWNED BY dp_test_analyst, dp_test_team;
DROP ROLE dp_test_analyst, dp_test_team;
