-- Drafts, published and retracted releases; what is left of a dataset that was dropped.
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL);
INSERT INTO household SELECT i, (ARRAY['Ohio', 'Utah'])[1 + i % 2] FROM generate_series(1, 200) AS i;
CREATE TABLE person (id int, age int);
INSERT INTO person SELECT id, id % 90 FROM household, generate_series(1, id % 7);
CREATE ROLE dp_test_owner LOGIN;
CREATE ROLE dp_test_other LOGIN;
ALTER TABLE household OWNER TO dp_test_owner;
ALTER TABLE person OWNER TO dp_test_owner;
GRANT CREATE ON SCHEMA public TO dp_test_owner, dp_test_other;
SET ROLE dp_test_owner;
SELECT dp_create_dataset('census', 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e5, name => 'Q1', max_size => 10, keep_measurements => true);
SELECT count(*) FROM dp_range_sums('census', 'age', '{"[0,10)"}', 1e5, name => 'ages');
SELECT dp_range_release(bins_agg(age::bigint, 0, 90), 1e5, dataset => 'census', name => 'bins') IS NOT NULL AS released FROM person;
RESET ROLE;
-- all views of released numbers, and how many releases each shows
CREATE VIEW shown AS
    SELECT (SELECT count(DISTINCT release) FROM dp.release_rows) AS rows, (SELECT count(DISTINCT release) FROM dp.release_histograms) AS histograms,
           (SELECT count(DISTINCT release) FROM dp.release_regions) AS regions, (SELECT count(DISTINCT release) FROM dp.release_sizes) AS sizes,
           (SELECT count(DISTINCT release) FROM dp.release_measurements) AS measurements,
           (SELECT count(DISTINCT release) FROM dp.range_rows) AS ranges, (SELECT count(DISTINCT release) FROM dp.release_ranges) AS bins,
           (SELECT string_agg(name || ' ' || status, ', ' ORDER BY name) FROM dp.releases) AS releases;
-- the views' own rights are those of who asks
ALTER VIEW shown SET (security_invoker = true);
GRANT SELECT ON shown TO PUBLIC;
SET ROLE dp_test_other;
TABLE shown;

-- a draft is its owner's; that it is there is not told
SET ROLE dp_test_owner;
CALL dp_set_status('census', 'Q1', 'draft');
CALL dp_set_status('census', 'ages', 'draft');
CALL dp_set_status('census', 'bins', 'draft');
TABLE shown;
SET ROLE dp_test_other;
TABLE shown;
SELECT * FROM error_of($$CALL dp_set_status('census', 'Q1', 'published')$$);
SELECT * FROM error_of($$CALL dp_describe_release('census', 'Q1', 'mine')$$);
SELECT * FROM error_of($$SELECT * FROM dp_hierarchy_intervals('census', 'Q1')$$);
SELECT * FROM error_of($$CALL dp_create_view('census', 'v')$$);

-- what is retracted nobody sees, and its name stays spent; it can be asked for again when it is published again
SET ROLE dp_test_owner;
CALL dp_set_status('census', 'Q1', 'retracted');
CALL dp_set_status('census', 'bins', 'published');
CALL dp_set_status('census', 'bins', 'published');
TABLE shown;
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1e5, name => 'Q1', max_size => 10)$$);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1e5, name => 'Q1', max_size => 10, keep_measurements => true)$$);
SELECT * FROM error_of($$SELECT * FROM dp_hierarchy_intervals('census', 'Q1')$$);
SELECT * FROM error_of($$SELECT * FROM dp_explain_hierarchy('census', 1, release => 'Q1')$$);
SELECT * FROM error_of($$CALL dp_create_view('census', 'v', 'Q1')$$);
SELECT * FROM error_of($$SELECT dp_plot('census', 'Q1')$$);
SET ROLE dp_test_other;
TABLE shown;
SELECT code, message FROM error_of($$SELECT dp_plot('census', 'Q1')$$);
-- and of a draft nothing
SELECT code, message FROM error_of($$SELECT dp_plot('census', 'ages')$$);
SELECT * FROM error_of($$CALL dp_set_status('census', 'Q1', 'published')$$);
SET ROLE dp_test_owner;
CALL dp_set_status('census', 'Q1', 'published');
CALL dp_set_status('census', 'ages', 'published');
SELECT count(*) > 0 AS served FROM dp_hierarchy_release('census', 1e5, name => 'Q1', max_size => 10, keep_measurements => true);
SELECT epsilon_spent FROM dp_budget('census');
-- the trace, for the owner
SELECT release, status, set_by, set_at IS NOT NULL AS has_time FROM dp.release_history ORDER BY set_at;
SET ROLE dp_test_other;
SELECT count(*) FROM dp.release_history;
RESET ROLE;

-- a catalogue that readers understand
SET ROLE dp_test_owner;
CALL dp_describe_release('census', 'Q1', 'Households by size', 'First quarter of 2026, provisional', '[2026-01-01,2026-04-01)');
SELECT name, title, description, valid, status_since > released_at AS changed FROM dp.releases ORDER BY name;
CALL dp_describe_release('census', 'Q1');
SELECT name, title, description, valid FROM dp.releases WHERE name = 'Q1';
RESET ROLE;

-- what was released stays when the dataset is dropped; another role cannot take the name over, the owner can add to it
SET ROLE dp_test_owner;
SELECT dp_drop_dataset('census');
SET ROLE dp_test_other;
TABLE shown;
CREATE TABLE mine (id int, state text);
SELECT * FROM error_of($$SELECT dp_create_dataset('census', 'mine', '{id}', '{state}', epsilon_budget => 1)$$);
SET ROLE dp_test_owner;
SELECT dp_create_dataset('census', 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1e5, name => 'Q1', max_size => 10)$$);
SELECT * FROM error_of($$SELECT * FROM dp_explain_hierarchy('census', 1, release => 'Q1')$$);
SELECT epsilon_spent FROM dp_budget('census');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e5, name => 'Q2', max_size => 10);
CALL dp_set_status('census', 'Q1', 'retracted');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e5, name => 'Q1', max_size => 10);
-- of two the one that is not retracted is meant, so that the first cannot come back beside it
CALL dp_set_status('census', 'Q1', 'published');
TABLE shown;
SELECT dp_drop_dataset('census');
CALL dp_set_status('census', 'Q1', 'retracted');
CALL dp_set_status('census', 'Q2', 'retracted');
CALL dp_set_status('census', 'ages', 'retracted');
CALL dp_set_status('census', 'bins', 'retracted');
-- with nothing left to be seen the name is free
SET ROLE dp_test_other;
SELECT dp_create_dataset('census', 'mine', '{id}', '{state}', epsilon_budget => 1);
-- and then what was retracted cannot come back under it
SET ROLE dp_test_owner;
SELECT * FROM error_of($$CALL dp_set_status('census', 'Q2', 'published')$$);
RESET ROLE;

-- who listens is told
SELECT dp_create_dataset('told', 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9);
SELECT * FROM error_of($$CALL dp_set_status('told', 'Q1', 'gone')$$);
SELECT * FROM error_of($$CALL dp_set_status('told', 'Q1', 'draft')$$);
SELECT * FROM error_of($$CALL dp_set_status('told', NULL, 'draft')$$);
DROP OWNED BY dp_test_owner, dp_test_other CASCADE;
DROP ROLE dp_test_owner, dp_test_other;
