-- Everything that is released can be stored under a name: range sums, releases of bins, histograms.
-- Epsilon is so large that no noise shows: the chance of one number that differs is below e^-100000.
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL);
INSERT INTO household SELECT i, (ARRAY['Ohio', 'Utah'])[1 + i % 2] FROM generate_series(1, 200) AS i;
CREATE TABLE person (id int, age int, born date, seen timestamp, at timestamptz);
INSERT INTO person SELECT id, id % 90, date '2013-01-01' + id, timestamp '2013-01-01' + id * interval '1 hour', timestamptz '2013-01-01 00:00Z' + id * interval '1 hour' FROM household, generate_series(1, id % 7);
SELECT dp_create_dataset('census', 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9);
CREATE VIEW charges AS SELECT epsilon_spent, releases FROM dp_budget('census');

-- the same call again is served, also after a rollback, and whatever the data are then
BEGIN;
SELECT range, sum FROM dp_range_sums('census', 'age', '{"[0,10)","[10,90)",empty,"[5,)"}', 1e5, name => 'ages');
ROLLBACK;
BEGIN;
DELETE FROM person;
SELECT range, sum, stddev > 0 AS has_noise FROM dp_range_sums('census', 'age', '{"[0,10)","[10,90)",empty,"[5,)"}', 1e5, name => 'ages');
ROLLBACK;
TABLE charges;
-- a release of bins, and a histogram
BEGIN;
SELECT dp_range_sum(dp_range_release(bins_agg(age::bigint, 0, 90), 1e5, dataset => 'census', name => 'bins'), '[0,10)') FROM person;
ROLLBACK;
SELECT sum FROM dp.release_ranges, dp_range_sums(ranges, '{"[0,10)"}') WHERE release = 'bins';
BEGIN;
SELECT dp_coco_histogram(coco_agg(n), 1e5, dataset => 'census', name => 'sizes') FROM (SELECT count(*) FROM person GROUP BY id) AS g (n);
ROLLBACK;
-- what is handed over does not matter any more
SELECT dp_coco_histogram('{7:1}', 1e5, dataset => 'census', name => 'sizes');
SELECT dp_range_sum(dp_range_release('[0,90){0:1}', 1e5, dataset => 'census', name => 'bins'), '[0,10)');
TABLE charges;
SELECT level, level_name, region, is_leaf, groups, entities FROM dp.release_regions WHERE release = 'sizes';
SELECT size, value, lower, upper FROM dp_hierarchy_intervals('census', 'sizes') WHERE statistic = 'groups_of_size' ORDER BY size;
SELECT name, regions, function, parameters FROM dp.releases ORDER BY released_at;

-- grains, in the session's time zone; ends do not depend on the session
SET timezone = 'America/New_York';
SET datestyle = 'SQL, DMY';
SET intervalstyle = iso_8601;
SELECT count(*) FROM dp_range_sums('census', 'born', '{"[2013-01-01,2014-01-01)","[2013-04-01,2013-07-01)","[2013-01-01,2013-02-01)","[2013-01-07,2013-01-14)","[2013-01-01,2013-01-02)","[2013-01-02,2013-02-02)"}'::daterange[], '1 day', 1e5, name => 'days');
SELECT count(*) FROM dp_range_sums('census', 'seen', '{"[2013-01-01 05:00,2013-01-01 06:00)","[2013-01-01 05:00,2013-01-01 05:01)","[2013-01-01 05:30,2013-01-02 05:30)","(,2014-01-01)","[2013-02-01,infinity)"}'::tsrange[], '1 minute', 1e5, name => 'minutes');
SELECT count(*) FROM dp_range_sums('census', 'at', '{"[2013-03-01,2013-04-01)","[2013-03-10,2013-03-11)","[2013-03-10 01:00,2013-03-10 03:00)"}'::tstzrange[], '1 hour', 1e5, name => 'hours');
RESET datestyle;
SELECT release, grain, lower_bound, upper_bound, sum FROM dp.range_rows WHERE release <> 'bins' ORDER BY release, upper_bound, lower_bound;
-- the same ranges in another zone are the same release
SET timezone = 'UTC';
SELECT range, sum FROM dp_range_sums('census', 'at', '{"[2013-03-01 05:00,2013-04-01 04:00)","[2013-03-10 05:00,2013-03-11 04:00)","[2013-03-10 06:00,2013-03-10 07:00)"}'::tstzrange[], '1 hour', 1e5, name => 'hours');
-- where a year more would be none
SELECT type, dp.grain(type, low, high) FROM (VALUES ('date'::regtype, '294276-01-01', '294276-02-01'), ('date', '2013-01-01', '5874897-12-31'),
    ('date', '279999-01-01', '279999-02-01'), ('timestamp', '4714-11-25T00:00:00 BC', '294276-12-31T12:00:00'),
    ('timestamptz', '294276-12-31T00:00:00+00:00', '294276-12-31T23:00:00+00:00')) AS far (type, low, high);
RESET timezone;
RESET intervalstyle;
-- the band is 1.645 standard deviations wide, on either side
SELECT dp_create_dataset('noisy', 'person', '{id}', '{state}', 'household', epsilon_budget => 1e9);
SELECT count(*) FROM dp_range_sums('noisy', 'age', '{"[0,10)","[10,90)"}', 1, name => 'ages');
SELECT grain, round((low + high) / 2) = round(sum) AS centred, round(((high - low) / 2 / stddev)::numeric, 3) AS deviations FROM dp.range_rows WHERE dataset = 'noisy';
SELECT (SELECT count(*) FROM dp.range_rows WHERE release = 'bins') AS bins, (SELECT count(*) FROM dp.release_rows WHERE release = 'bins') AS sizes;

-- what is counted elsewhere is stored for those who may read the table
CREATE ROLE dp_test_analyst;
SELECT dp_grant('census', 'dp_test_analyst');
SET ROLE dp_test_analyst;
SELECT * FROM error_of($$SELECT dp_coco_histogram('{1:1}'::coco, 1e5, dataset => 'census', name => 'made up')$$);
SELECT * FROM error_of($$SELECT dp_range_release('[0,90){0:1}', 1e5, dataset => 'census', name => 'made up')$$);
RESET ROLE;
GRANT SELECT (id) ON person TO dp_test_analyst;
SET ROLE dp_test_analyst;
SELECT dp_coco_histogram('{1:1}'::coco, 1e5, dataset => 'census', name => 'counted');
RESET ROLE;
CALL dp_set_status('census', 'counted', 'retracted');
REVOKE SELECT (id) ON person FROM dp_test_analyst;
DROP ROLE dp_test_analyst;

-- a view with the ends in their type
CALL dp_create_view('census', 'departures', 'hours');
SELECT grain, lower_bound AT TIME ZONE 'UTC' AS begins, upper_bound - lower_bound AS length, sum FROM departures ORDER BY 2, 3;
CALL dp_create_view('census', 'ages', 'ages');
CALL dp_create_view('noisy', 'all_noisy');
SELECT release, grain, lower_bound + 1 AS next FROM all_noisy ORDER BY 3;
SELECT grain, lower_bound + 1 AS next, sum FROM ages ORDER BY 2, 3;

-- other arguments, other functions, other columns
SELECT * FROM error_of($$SELECT dp_range_sums('census', 'age', '{"[0,10)","[10,90)",empty,"[5,)"}', 2e5, name => 'ages')$$);
SELECT * FROM error_of($$SELECT dp_range_sums('census', 'id', '{"[0,10)","[10,90)",empty,"[5,)"}', 1e5, name => 'ages')$$);
SELECT * FROM error_of($$SELECT dp_range_sums('census', 'age', '{"[0,10)"}', 1e5, name => 'ages')$$);
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1e5, name => 'ages')$$);
SELECT * FROM error_of($$SELECT dp_range_release('[0,90){0:1}', 1e5, dataset => 'census', name => 'sizes')$$);
SELECT * FROM error_of($$SELECT dp_range_release('[0,90){0:1}', 1e5, name => 'x')$$);
SELECT * FROM error_of($$SELECT dp_coco_histogram('{1:1}'::coco, 1e5, name => 'x')$$);
SELECT * FROM error_of($$SELECT dp_coco_histogram('{1:1}'::coco, 1e5, dataset => 'census', name => ' ')$$);
SELECT * FROM error_of($$SELECT * FROM dp_hierarchy_intervals('census', 'ages')$$);
SELECT * FROM error_of($$SELECT * FROM dp_explain_hierarchy('census', 1, release => 'ages')$$);
TABLE charges;

-- charged and not stored: resumed
ALTER TABLE dp.release_sum ADD CONSTRAINT broken CHECK (grain <> '77') NOT VALID;
SELECT * FROM error_of($$SELECT dp_range_sums('census', 'age', '{"[0,77)"}', 1e5, name => 'broken')$$);
SELECT name, function, attempts FROM dp.unstored_charges;
ALTER TABLE dp.release_sum DROP CONSTRAINT broken;
SELECT range, sum FROM dp_range_sums('census', 'age', '{"[0,77)"}', 1e5, name => 'broken');
SELECT name, function, attempts FROM dp.unstored_charges;
TABLE charges;
SELECT entries, whole FROM dp_verify_ledger();
