-- Streams: charged once, released tick by tick. With an epsilon so large that noise is none, to compare with the truth.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
SET TimeZone = 'UTC';
CREATE TABLE visit (id int, at timestamptz, local timestamp, day date, other text);
CREATE FUNCTION visits(day date, n int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO visit SELECT i, (day + interval '12 hours') AT TIME ZONE 'UTC', day + interval '12 hours', day
      FROM generate_series(1, n) AS i
$$;
SELECT visits('2019-12-31', 50), visits('2020-01-01', 3), visits('2020-01-02', 1), visits('2020-01-04', 7),
       visits('2020-01-05', 2), visits('2020-01-08', 90);
INSERT INTO visit (id, at, local, day) VALUES
    (0, '2020-01-03 00:00+00', '2020-01-03 00:00', '2020-01-03'), -- where a tick begins
    (0, '2020-01-03 23:59:59.999999+00', '2020-01-03 23:59:59.999999', '2020-01-03'), -- and just before it ends
    (0, NULL, NULL, NULL), (0, 'infinity', 'infinity', 'infinity'), (0, '-infinity', '-infinity', '-infinity');
SELECT dp_create_dataset('visits', 'visit', '{id}', '{}', epsilon_budget => 100000, delta_budget => 1e-6);
CREATE VIEW spent AS SELECT epsilon_spent, releases FROM dp_budget('visits');
CREATE FUNCTION ticked(stream text) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(round(count)::bigint::text, ' ' ORDER BY tick) FROM dp_stream_tick('visits', stream));

-- what it would be like costs nothing
SELECT method, branching, levels, round(mean_variance::numeric, 3) AS mean, round(max_variance::numeric, 3) AS max, round(count_variance::numeric, 3) AS of_a_count
  FROM unnest('{0,1e-9}'::float8[]) AS delta, dp_explain_stream(100, 1, delta);
SELECT method, branching, levels, mean_variance = max_variance AS alike FROM dp_explain_stream(1, 1);

-- the whole horizon is charged, once, and no tick
SELECT dp_stream_create('visits', 'tz', 'at', timestamptz '2020-01-01 00:00+00', '1 day', 6, 1000);
SELECT * FROM spent;
SELECT dp_stream_create('visits', 'tz', 'at', '2020-01-01 01:00+01', '24 hours', 6, 1000);
SELECT dp_stream_create('visits', 'local', 'local', timestamp '2020-01-01', '1 day', 6, 1000);
SELECT dp_stream_create('visits', 'day', 'day', date '2020-01-01', '1 day', 6, 1000);
SELECT dp_stream_create('visits', 'gauss', 'at', '2020-01-01 00:00+00', '1 day', 6, 1000, 1e-9);
SELECT * FROM spent;
SELECT function, epsilon, delta, parameters - '{measurements,sensitivity_squared,integers}'::text[] AS parameters,
       parameters ->> 'sensitivity_squared' ~ '^[0-9]+(/[0-9]+)?$' AS sensitivity, parameters ->> 'integers' ~ '^[0-9a-f]{32}$' AS integers
  FROM dp.ledger ORDER BY id;
SELECT name, parameters, function, status FROM dp.releases ORDER BY name;
SELECT stream, time_column, value_type, start_at, bin_width, time_zone, horizon, ticks, epsilon, delta FROM dp.streams ORDER BY stream;

-- all ticks have ended; a second call has none left, as the horizon is reached
SELECT tick, lower_bound, upper_bound, round(count)::bigint AS count, stddev < 0.1 AS exact, round(total)::bigint AS total,
       total_stddev < 0.1 AS exact FROM dp_stream_tick('visits', 'tz');
SELECT count(*) FROM dp_stream_tick('visits', 'tz');
SELECT ticked('local') AS local, ticked('day') AS day, ticked('gauss') AS gauss;
SELECT tick, lower_bound, upper_bound, round(count)::bigint AS count, round(total)::bigint AS total FROM dp.stream_ticks
 WHERE stream = 'day' ORDER BY tick;
SELECT DISTINCT lower_bound, upper_bound FROM dp.stream_ticks WHERE stream = 'local' AND tick = 5;
CALL dp_create_view('visits', 'ticks', 'local');
SELECT lower_bound, upper_bound - lower_bound AS length, round(total)::bigint AS total FROM ticks WHERE tick = 5;
SELECT * FROM error_of($$CALL dp_create_view('visits', 'all_ticks')$$);
SELECT * FROM spent;
-- rows that come late, or whose time is changed, change nothing that was told
SELECT visits('2020-01-01', 10);
SELECT string_agg(round(count)::bigint::text, ' ' ORDER BY tick) FROM dp.stream_ticks WHERE stream = 'tz';

-- when it was told is shown to the minute; exact counts are gone with the last tick
SELECT count(*) AS ticks, count(*) FILTER (WHERE released_at <> date_trunc('minute', released_at)) AS exact FROM dp.stream_ticks;
SELECT count(*) AS counts FROM dp.stream_count;

-- sums of ranges
SELECT range, round(sum)::bigint AS sum, stddev < 0.1 AS exact, stddev = 0 AS empty
  FROM dp_stream_sums('visits', 'tz', ARRAY[
    tstzrange('2020-01-01 00:00+00', '2020-01-03 00:00+00'), tstzrange(NULL, '2020-01-04 00:00+00'),
    tstzrange('2020-01-04 00:00+00', NULL), tstzrange('2020-01-05 00:00+00', '2999-01-01 00:00+00'),
    tstzrange('2020-01-07 00:00+00', '2020-01-09 00:00+00'), 'empty', tstzrange('-infinity', 'infinity')]);
SELECT round(sum)::bigint AS sum FROM dp_stream_sums('visits', 'day', '{"[2020-01-03,2020-01-04]", "(,2020-01-02)"}'::daterange[]);
SELECT round(sum)::bigint AS sum FROM dp_stream_sums('visits', 'local', '{"[2020-01-03,2020-01-05)"}'::tsrange[]);
SELECT round(sum)::bigint AS sum FROM dp_stream_sums('visits', 'gauss', '{"[2020-01-01 00:00+00,2020-01-05 00:00+00)"}'::tstzrange[]);
SELECT * FROM error_of($$SELECT dp_stream_sums('visits', 'tz', '{"[2020-01-01 00:00+00,2020-01-01 12:00+00)"}'::tstzrange[])$$);
SELECT * FROM error_of($$SELECT dp_stream_sums('visits', 'tz', '{"[2020-01-01,2020-01-02)"}'::daterange[])$$);
SELECT * FROM error_of($$SELECT dp_stream_sums('visits', 'tz', '{}'::tstzrange[])$$);
SELECT * FROM error_of($$SELECT dp_stream_sums('visits', 'tz', '{NULL}'::tstzrange[])$$);
SELECT * FROM error_of($$SELECT dp_stream_sums('visits', 'none', '{"(,)"}'::tstzrange[])$$);

-- what cannot be asked for; nothing is spent
SELECT e.* FROM (VALUES
    ($$'visits', 'tz', 'at', timestamptz '2020-01-01 00:00+00', '1 day', 7, 1000$$),
    ($$'visits', 'tz', 'at', timestamptz '2020-01-01 00:00+00', '1 day', 6, 999$$),
    ($$'visits', 'e', 'at', timestamptz '2020-01-01', '1 day', 0, 1$$),
    ($$'visits', 'e', 'at', timestamptz '2020-01-01', '1 day', 16385, 1$$),
    ($$'visits', 'e', 'at', timestamptz '2020-01-01', '1 month', 9, 1$$),
    ($$'visits', 'e', 'at', timestamptz '2020-01-01', '-1 day', 9, 1$$),
    ($$'visits', 'e', 'day', date '2020-01-01', '12 hours', 9, 1$$),
    ($$'visits', 'e', 'at', timestamptz 'infinity', '1 day', 9, 1$$),
    ($$'visits', 'e', 'day', date '5000000-01-01', '1 day', 9, 1$$),
    ($$'visits', 'e', 'at', timestamptz '294000-01-01', '365 days', 999, 1$$),
    ($$'visits', 'e', 'at', timestamptz '4713-01-01 BC', '107000000 days', 1, 1$$),
    ($$'visits', 'e', 'at', date '2020-01-01', '1 day', 9, 1$$),
    ($$'visits', 'e', 'other', '2020-01-01', '1 day', 9, 1$$),
    ($$'visits', 'e', 'none', '2020-01-01', '1 day', 9, 1$$),
    ($$'visits', 'e', 'at', '2020-01-01', '1 day', 9, 0$$),
    ($$'visits', 'e', 'at', '2020-01-01', '1 day', 9, 1, 1$$),
    ($$'visits', 'e', 'at', '2020-01-01', '1 day', 9, 1e6$$),
    ($$'visits', ' ', 'at', '2020-01-01', '1 day', 9, 1$$),
    ($$'none', 'e', 'at', '2020-01-01', '1 day', 9, 1$$),
    ($$'visits', 'e', 'at', NULL::timestamptz, '1 day', 9, 1$$)) AS v (arguments),
    error_of('SELECT dp_stream_create(' || arguments || ')') AS e;
SELECT e.* FROM unnest('{"dp_stream_create(NULL, ''e'', ''at'', now(), ''1 day'', 9, 1)",
                        "dp_stream_create(''visits'', NULL, ''at'', now(), ''1 day'', 9, 1)",
                        "dp_stream_create(''visits'', ''e'', NULL, now(), ''1 day'', 9, 1)",
                        "dp_stream_create(''visits'', ''e'', ''at'', now(), NULL, 9, 1)",
                        "dp_stream_create(''visits'', ''e'', ''at'', now(), ''1 day'', NULL, 1)",
                        "dp_stream_create(''visits'', ''e'', ''at'', now(), ''1 day'', 9, NULL)",
                        "dp_stream_create(''visits'', ''e'', ''at'', now(), ''1 day'', 9, 1, NULL)",
                        "dp_stream_tick(NULL, ''tz'')", "dp_stream_tick(''visits'', NULL)", "dp_stream_tick(''visits'', ''none'')",
                        "dp_stream_sums(NULL, ''tz'', ''{\"(,)\"}''::tstzrange[])", "dp_stream_sums(''visits'', NULL, ''{\"(,)\"}''::tstzrange[])",
                        "dp_stream_sums(''visits'', ''tz'', NULL::tstzrange[])", "dp_stream_confirm(''visits'', ''tz'', NULL)",
                        "dp_explain_stream(NULL, 1)", "dp_explain_stream(9, NULL)", "dp_explain_stream(9, 1, NULL)",
                        "dp_explain_stream(0, 1)", "dp_explain_stream(9, -1)", "dp_explain_stream(9, 1, 2)"}'::text[]) AS s (call),
       error_of('SELECT ' || call) AS e;
CREATE TABLE visit_group (id int PRIMARY KEY);
SELECT dp_create_dataset('units', 'visit', '{id}', '{}', 'visit_group', epsilon_budget => 1, privacy_unit => 'other', max_rows_per_unit => 2);
SELECT dp_create_dataset('sized', 'visit', '{}', '{}', size_column => 'id', epsilon_budget => 1);
SELECT e.* FROM unnest('{units,sized}'::text[]) AS d,
       error_of(format($$SELECT dp_stream_create(%L, 'e', 'at', '2020-01-01', '1 day', 9, 1)$$, d)) AS e;
CREATE MATERIALIZED VIEW seen AS TABLE visit;
SELECT dp_create_dataset('seen', 'seen', '{id}', '{}', epsilon_budget => 1);
SELECT * FROM error_of($$SELECT dp_stream_create('seen', 'e', 'at', '2020-01-01', '1 day', 9, 1)$$);
-- a name that another release has
SELECT count(*) FROM dp_range_sums('visits', 'id', '{"[0,9)"}', 1, name => 'other release');
SELECT * FROM error_of($$SELECT dp_stream_create('visits', 'other release', 'at', '2020-01-01', '1 day', 9, 1)$$);
SELECT * FROM error_of($$SELECT dp_stream_tick('visits', 'other release')$$);
SELECT * FROM error_of($$SELECT dp_range_sums('visits', 'id', '{"[0,9)"}', 1, name => 'tz')$$);
SELECT * FROM spent;

-- the transaction does not count: what was told stays
SELECT dp_stream_create('visits', 'rolled back', 'at', '2020-01-01 00:00+00', '1 day', 6, 0.5);
BEGIN;
CREATE TEMP TABLE told AS SELECT * FROM dp_stream_tick('visits', 'rolled back');
SELECT count(*), sum(count) AS seen FROM told \gset
ROLLBACK;
SELECT :count AS ticks, sum(count) = :seen AS same, (SELECT count(*) FROM dp_stream_tick('visits', 'rolled back')) AS again
  FROM dp.stream_ticks WHERE stream = 'rolled back';
SELECT abs(total - sum) < 1e-9 AS same FROM dp.stream_ticks, dp_stream_sums('visits', 'rolled back', '{"(,)"}'::tstzrange[])
 WHERE stream = 'rolled back' AND tick = 5;
BEGIN;
SELECT dp_stream_create('visits', 'begun', 'at', '2020-01-01 00:00+00', '1 day', 6, 1000);
ROLLBACK;
SELECT dp_stream_create('visits', 'begun', 'at', '2020-01-01 00:00+00', '1 day', 6, 1000);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM dp.stream_ticks WHERE stream = 'begun';
SELECT visits('2020-01-06', 4);
SELECT count(*) FROM dp_stream_tick('visits', 'begun');
SELECT count(*) FROM dp_stream_tick('visits', 'begun');
SELECT count(*) AS not_in_the_snapshot FROM dp.stream_ticks WHERE stream = 'begun';
SELECT sum <> 0 AS now FROM dp_stream_sums('visits', 'begun', '{"(,)"}'::tstzrange[]);
COMMIT;
SELECT dp_stream_create('visits', 'read only', 'at', '2020-01-01 00:00+00', '1 day', 6, 1000);
BEGIN READ ONLY;
SELECT * FROM error_of($$SELECT dp_stream_tick('visits', 'read only')$$);
SELECT count(*) FROM dp_stream_tick('visits', 'begun');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM error_of($$SELECT dp_stream_tick('visits', 'read only')$$);
ROLLBACK;

-- the clock: of the future there is nothing, of ticks that have ended those; rows that come between ticks are read
SELECT dp_stream_create('visits', 'future', 'at', '2900-01-01', '1 day', 6, 1);
SELECT count(*) FROM dp_stream_tick('visits', 'future');
SELECT * FROM dp_stream_sums('visits', 'future', '{"(,)"}'::tstzrange[]);
CREATE TABLE live (id int, at timestamptz);
SELECT dp_create_dataset('live', 'live', '{id}', '{}', epsilon_budget => 100000);
BEGIN; -- whose time stands still
SELECT clock_timestamp() AS begin \gset
SELECT dp_stream_create('live', 'live', 'at', :'begin'::timestamptz - interval '6 s', '2 seconds', 7, 3000);
SELECT count(*) FROM dp_stream_tick('live', 'live');
INSERT INTO live SELECT i, :'begin'::timestamptz + interval '1 s' FROM generate_series(1, 5) AS i;
SELECT pg_sleep(extract(epoch FROM :'begin'::timestamptz + interval '2.02 s' - clock_timestamp()));
SELECT tick, round(count)::bigint AS own_rows FROM dp_stream_tick('live', 'live');
COMMIT;
INSERT INTO live SELECT i, :'begin'::timestamptz + interval '3 s' FROM generate_series(1, 6) AS i;
SELECT pg_sleep(extract(epoch FROM :'begin'::timestamptz + interval '8.02 s' - clock_timestamp()));
SELECT tick, round(count)::bigint AS count, round(total)::bigint AS total FROM dp_stream_tick('live', 'live');
-- a column without a zone goes by the clock of the session that began it
SET TimeZone = 'Pacific/Kiritimati';
SELECT (date_trunc('hour', clock_timestamp() AT TIME ZONE 'UTC') + interval '11 hours')::timestamp AS ahead \gset
SELECT dp_stream_create('visits', 'early', 'local', timestamp :'ahead', '1 hour', 9, 0.1);
SET TimeZone = 'UTC';
SELECT dp_stream_create('visits', 'late', 'local', timestamp :'ahead', '1 hour', 9, 0.1);
SELECT (SELECT count(*) FROM dp_stream_tick('visits', 'early')) AS kiritimati, (SELECT count(*) FROM dp_stream_tick('visits', 'late')) AS utc;
SELECT stream, time_zone FROM dp.streams WHERE stream IN ('early', 'late') ORDER BY stream;
SET TimeZone = 'Pacific/Kiritimati';
SELECT code, message, hint FROM error_of(format($$SELECT dp_stream_create('visits', 'late', 'local', timestamp %L, '1 hour', 9, 0.1)$$, :'ahead'));
-- which is not the reason where it is not all that differs
SELECT code, message, hint FROM error_of($$SELECT dp_hierarchy_release('visits', 0.1, name => 'late')$$);
-- which is that of the zone of that name, whatever abbreviations the session that calls has
SET TimeZone = 'EST';
SELECT (date_trunc('hour', clock_timestamp() AT TIME ZONE 'UTC') - interval '5 hours')::timestamp AS est \gset
SELECT dp_stream_create('visits', 'est soon', 'local', timestamp :'est' + interval '1 hour', '1 hour', 9, 0.1);
SELECT dp_stream_create('visits', 'est past', 'local', timestamp :'est' - interval '2 hours', '1 hour', 9, 0.1);
SET TimeZone = 'CET';
SELECT (date_trunc('hour', clock_timestamp() AT TIME ZONE 'Europe/Brussels') - interval '2 hours')::timestamp AS cet \gset
SELECT dp_stream_create('visits', 'cet', 'local', timestamp :'cet', '1 hour', 9, 0.1);
SET TimeZone = 'UTC';
SET timezone_abbreviations = 'Australia';
SELECT (SELECT count(*) FROM dp_stream_tick('visits', 'est soon')) AS est_soon, (SELECT count(*) FROM dp_stream_tick('visits', 'est past')) - 2 IN (0, 1) AS est_past,
       (SELECT count(*) FROM dp_stream_tick('visits', 'cet')) - 2 IN (0, 1) AS cet;
RESET timezone_abbreviations;
UPDATE dp.stream SET time_zone = 'Nowhere/At All' WHERE release = (SELECT id FROM dp.release WHERE name = 'cet');
SELECT * FROM error_of($$SELECT dp_stream_tick('visits', 'cet')$$);

-- a tick that cannot be stored is told nobody, and made anew; its owner may begin it as often as it likes
SELECT dp_stream_create('visits', 'broken', 'at', '2020-01-01 00:00+00', '1 day', 2, 1000);
ALTER TABLE dp.stream_tick ADD CONSTRAINT broken CHECK (n < 1) NOT VALID;
SELECT e.* FROM generate_series(1, 2) AS i, error_of(format($$SELECT dp_stream_tick('visits', 'broken') WHERE %s > 0$$, i)) AS e;
SELECT ticks, (SELECT attempts FROM dp.release WHERE name = 'broken') AS attempts FROM dp.streams WHERE stream = 'broken';
UPDATE dp.release SET attempts = 1000 WHERE name = 'broken';
SELECT code FROM error_of($$SELECT dp_stream_tick('visits', 'broken')$$);
ALTER TABLE dp.stream_tick DROP CONSTRAINT broken;
SELECT ticked('broken');
SELECT attempts FROM dp.release WHERE name = 'broken';
SELECT releases FROM spent;

-- on another server ticks could be missing: it does not go on, unless its owner says that none is
SELECT dp_stream_create('visits', 'moved', 'at', '2020-01-01 00:00+00', '1 day', 2, 1000);
UPDATE dp.epoch SET identity = 'not ' || identity;
SELECT * FROM error_of($$SELECT dp_stream_tick('visits', 'moved')$$);
SELECT * FROM error_of($$SELECT dp_stream_confirm('visits', 'moved', 1)$$);
SELECT dp_stream_confirm('visits', 'moved', 0);
SELECT ticked('moved');
UPDATE dp.epoch SET identity = substr(identity, 5);
-- what is not what was charged does not go on
SELECT dp_stream_create('visits', 'changed', 'at', '2020-01-01 00:00+00', '1 day', 6, 1000);
UPDATE dp.stream SET width = width / 2 WHERE release = (SELECT id FROM dp.release WHERE name = 'changed');
SELECT * FROM error_of($$SELECT dp_stream_tick('visits', 'changed')$$);
UPDATE dp.stream SET width = width * 2 WHERE release = (SELECT id FROM dp.release WHERE name = 'changed');
-- nor a mechanism whose integers are others
SELECT dp_stream_create('visits', 'other integers', 'at', '2020-01-01 00:00+00', '1 day', 6, 1000, 1e-9);
CREATE PROCEDURE set_integers(text) LANGUAGE sql BEGIN ATOMIC
    UPDATE dp.charge SET parameters = jsonb_set(parameters, '{integers}', to_jsonb($1)) WHERE parameters ->> 'name' = 'other integers';
END;
SELECT parameters ->> 'integers' AS integers FROM dp.charge WHERE parameters ->> 'name' = 'other integers' \gset
ALTER TABLE dp.charge DISABLE TRIGGER append_only;
CALL set_integers('0123456789abcdef0123456789abcdef');
SELECT code, message FROM error_of($$SELECT dp_stream_tick('visits', 'other integers')$$);
CALL set_integers(:'integers');
ALTER TABLE dp.charge ENABLE ALWAYS TRIGGER append_only;
SELECT ticked('other integers');
-- nor one by another column or table of that name, in which all rows could count again, unless the owner says that none will
CREATE TABLE event (id int, at timestamptz);
INSERT INTO event SELECT i, '2020-01-01 12:00+00' FROM generate_series(1, 5) AS i;
SELECT dp_create_dataset('events', 'event', '{id}', '{}', epsilon_budget => 10000);
SELECT dp_stream_create('events', s, 'at', '2020-01-01 00:00+00', '1 day', 2, 1000) FROM unnest('{column,table}'::text[]) AS s;
ALTER TABLE event ADD at2 timestamptz;
UPDATE event SET at2 = at + interval '1 day';
ALTER TABLE event DROP at;
ALTER TABLE event RENAME at2 TO at;
SELECT * FROM error_of($$SELECT dp_stream_tick('events', 'column')$$);
SELECT dp_stream_confirm('events', s, 0) FROM unnest('{column,table}'::text[]) AS s;
-- nor without it, or with one of another type
ALTER TABLE event RENAME at TO renamed;
SELECT code, message FROM error_of($$SELECT dp_stream_tick('events', 'column')$$);
ALTER TABLE event RENAME renamed TO at;
BEGIN;
ALTER TABLE event ALTER at TYPE timestamp;
SELECT code FROM error_of($$SELECT dp_stream_tick('events', 'column')$$);
ROLLBACK;
-- a dataset of streams alone
SELECT * FROM error_of($$CALL dp_create_view('events', 'all_ticks')$$);
SELECT count(*) = (SELECT count(*) FROM dp.stream_ticks WHERE (dataset, stream) = ('events', 'column')) AS drawn FROM dp_plot('events', 'column');
SELECT * FROM error_of($$SELECT dp_plot('events', 'column', grain => 'day')$$);
SELECT round(count)::bigint AS count FROM dp_stream_tick('events', 'column') ORDER BY tick;
ALTER TABLE event RENAME TO old_event;
CREATE TABLE event (LIKE old_event); -- where its columns have other numbers
INSERT INTO event TABLE old_event;
SELECT code FROM error_of($$SELECT dp_stream_tick('events', 'table')$$);
SELECT dp_confirm_dataset('events');
SELECT code FROM error_of($$SELECT dp_stream_tick('events', 'table')$$);
ALTER TABLE event RENAME at TO later;
SELECT code FROM error_of($$SELECT dp_stream_confirm('events', 'table', 0)$$);
ALTER TABLE event RENAME later TO at;
SELECT code FROM error_of($$SELECT dp_stream_confirm('events', 'table', 1)$$);
SELECT dp_stream_confirm('events', 'table', 0);
SELECT round(count)::bigint AS count FROM dp_stream_tick('events', 'table') ORDER BY tick;
-- whoever has kept counts: they are clamped as they are read
SELECT dp_stream_create('live', 'clamped', 'at', clock_timestamp() - interval '2 s', '1 second', 1000, 3000);
SELECT count(*) >= 2 AS begun FROM dp_stream_tick('live', 'clamped');
UPDATE dp.stream_count SET count = 9223372036854775807 WHERE release = (SELECT id FROM dp.release WHERE name = 'clamped');
SELECT pg_sleep(1.1);
\c -
SET client_min_messages = warning;
SET TimeZone = 'UTC';
SELECT count(*) > 0 AS goes_on FROM dp_stream_tick('live', 'clamped');
-- a stream that is retracted can be published again; one whose dataset is dropped needs no counts any more
CREATE VIEW kept_counts AS SELECT count(*) > 0 AS kept FROM dp.stream_count WHERE release = (SELECT id FROM dp.release WHERE name = 'clamped');
CALL dp_set_status('live', 'clamped', 'retracted');
TABLE kept_counts;
SELECT dp_drop_dataset('live');
TABLE kept_counts;

-- roles: who was charged and the owner make its ticks, everybody reads them
CREATE ROLE dp_test_analyst;
CREATE ROLE dp_test_other;
CREATE ROLE dp_test_reader;
SELECT dp_grant('visits', 'dp_test_analyst'), dp_grant('visits', 'dp_test_other');
SET ROLE dp_test_analyst;
SELECT dp_stream_create('visits', 'analyst''s', 'at', '2020-01-01 00:00+00', '1 day', 3, 1000);
SELECT * FROM error_of($$SELECT dp_stream_tick('visits', 'changed')$$);
SET ROLE dp_test_other;
SELECT code, message FROM error_of($$SELECT dp_stream_tick('visits', 'analyst''s')$$);
-- who begins it once more is told, and pays nothing
SET client_min_messages = notice;
SELECT dp_stream_create('visits', 'analyst''s', 'at', '2020-01-01 00:00+00', '1 day', 3, 1000);
SET client_min_messages = warning;
SET ROLE dp_test_analyst;
SELECT ticked('analyst''s');
-- what others may not make they may not wait for either
SET ROLE dp_test_other;
SELECT code FROM error_of($$SELECT dp_stream_tick('visits', 'analyst''s')$$);
SET ROLE dp_test_analyst;
SELECT * FROM error_of($$SELECT dp_stream_confirm('visits', 'analyst''s', 3)$$);
SET ROLE dp_test_reader;
SELECT count(*) FROM dp.stream_ticks WHERE stream = 'analyst''s';
SELECT stream, ticks FROM dp.streams WHERE stream = 'analyst''s';
SELECT round(sum)::bigint AS sum FROM dp_stream_sums('visits', 'analyst''s', '{"(,)"}'::tstzrange[]);
SELECT code FROM error_of($$SELECT dp_stream_tick('visits', 'analyst''s')$$);
SELECT code FROM unnest('{stream,stream_tick,stream_count}'::text[]) AS t, error_of(format('SELECT FROM dp.%I', t));
-- readings are few for who could time them: of ticks of a minute or longer, and five until ticks are stored
SET ROLE dp_test_analyst;
SELECT * FROM error_of($$SELECT dp_stream_create('visits', 'timed', 'at', '2020-01-01 00:00+00', '59.999999 seconds', 2, 1000)$$);
SELECT dp_stream_create('visits', 'timed', 'at', '2020-01-01 00:00+00', '1 minute', 2, 1000);
RESET ROLE;
ALTER TABLE dp.stream_tick ADD CONSTRAINT broken CHECK (n < 1) NOT VALID;
SET ROLE dp_test_analyst;
SELECT e.code, count(*) FROM generate_series(1, 7) AS i, error_of(format($$SELECT dp_stream_tick('visits', 'timed') WHERE %s > 0$$, i)) AS e
 GROUP BY e.code ORDER BY e.code;
RESET ROLE;
ALTER TABLE dp.stream_tick DROP CONSTRAINT broken;
SET ROLE dp_test_analyst;
SELECT * FROM error_of($$SELECT dp_stream_tick('visits', 'timed')$$);
RESET ROLE;
SELECT ticked('timed');
SELECT attempts FROM dp.release WHERE name = 'timed';
SELECT ticked('changed');
-- a draft is its owner's, whoever makes its ticks; what was retracted nobody's; what was dropped stays to be read
SET ROLE dp_test_analyst;
SELECT dp_stream_create('visits', 'draft', 'at', '2020-01-01 00:00+00', '1 day', 3, 1000);
RESET ROLE;
CALL dp_set_status('visits', 'draft', 'draft');
SET ROLE dp_test_analyst;
SELECT count(*) AS told FROM dp_stream_tick('visits', 'draft');
RESET ROLE;
SELECT count(*) AS stored FROM dp.stream_ticks WHERE stream = 'draft';
CALL dp_set_status('visits', 'changed', 'draft');
SET ROLE dp_test_reader;
SELECT code, message FROM error_of($$SELECT dp_stream_sums('visits', 'changed', '{"(,)"}'::tstzrange[])$$);
SELECT count(*) FROM dp.stream_ticks WHERE stream = 'changed';
RESET ROLE;
SELECT count(*) FROM dp_stream_sums('visits', 'changed', '{"(,)"}'::tstzrange[]);
CALL dp_set_status('visits', 'changed', 'retracted');
SELECT * FROM error_of($$SELECT dp_stream_sums('visits', 'changed', '{"(,)"}'::tstzrange[])$$);
SELECT * FROM error_of($$SELECT dp_stream_tick('visits', 'changed')$$);
SELECT count(*) FROM dp.stream_ticks WHERE stream = 'changed';
SELECT c -> 'release' ->> 'function' AS function, c -> 'rows' ->> 'columns' AS columns, c -> 'rows' ->> 'count' AS rows
  FROM dp_certificate('visits', 'tz') AS c;
SELECT dp_drop_dataset('visits');
SELECT code FROM error_of($$SELECT dp_stream_tick('visits', 'tz')$$);
SELECT count(*) FROM dp.stream_ticks WHERE stream = 'tz';
SELECT round(sum)::bigint AS sum FROM dp_stream_sums('visits', 'tz', '{"(,)"}'::tstzrange[]);
SELECT whole FROM dp_verify_ledger();
DROP OWNED BY dp_test_analyst, dp_test_other, dp_test_reader;
DROP ROLE dp_test_analyst, dp_test_other, dp_test_reader;
