-- Range sums over date, timestamp and timestamptz columns. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE event (id int, d date, t timestamp, z timestamptz);
INSERT INTO event VALUES
    (1, '2013-01-01', '2013-01-01 00:00', '2013-01-01 00:00+00'), (2, '2013-01-01', '2013-01-01 00:59:59.999999', '2013-01-01 05:30+00'),
    (3, '2013-01-02', '2013-01-01 01:00', '2013-06-01 00:00+00'), (4, '2012-12-31', '2012-12-31 23:59:59.999999', '2012-12-31 23:00+00'),
    (5, 'infinity', 'infinity', 'infinity'), (6, '-infinity', '-infinity', '-infinity'), (7, NULL, NULL, NULL),
    (8, '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999+00'), (9, '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 00:00+00 BC');
SELECT dp_create_dataset('events', 'event', '{id}', '{}', epsilon_budget => 1e9);
SELECT range, sum FROM dp_range_sums('events', 'd', '{"[2013-01-01,2013-01-03)", "[2013-01-02,2013-01-02]", "[2012-12-31,2013-01-01)", "(,)", "[2013-01-03,)", "[2013-01-03,infinity)", empty}'::daterange[], '1 day', 1e6);
SELECT range, sum FROM dp_range_sums('events', 't', '{"[2013-01-01 00:00,2013-01-01 01:00)", "[2013-01-01 01:00,2013-01-01 03:00)", "[2012-12-31 23:00,2013-01-01 00:00)", "[-infinity,2012-12-31 23:00)"}'::tsrange[], '30 minutes', 1e6);
-- moments, whatever the session's time zone
SET timezone = 'America/New_York';
SELECT range, sum FROM dp_range_sums('events', 'z', ARRAY[tstzrange('2013-01-01 00:00+00', '2013-01-01 06:00+00'), tstzrange('2013-01-01 00:00-05', '2013-01-01 01:00-05')], '1 hour', 1e6);
RESET timezone;
-- with bounds, what is outside counts in the first or last bin, which begin at their lower end
SET client_min_messages = notice;
SELECT range, sum FROM dp_range_sums('events', 'd', '{"[2013-01-01,2013-01-08)", "[2012-12-25,2013-01-01)", "(,)"}'::daterange[], '7 days', 1e6, bounds => '[2013-01-01,2013-01-15)');
SET client_min_messages = warning;
SELECT parameters->>'bounds' AS bounds, parameters->>'value_column' AS value_column, parameters->>'bin_0' AS bin_0, parameters->>'bin_width' AS bin_width FROM dp.ledger ORDER BY id DESC LIMIT 1;

-- what is refused; nothing is spent
SELECT epsilon_spent AS spent FROM dp_budget('events') \gset
SELECT e.* FROM (VALUES ('''d'', ''{"[2013-01-01,2013-01-03)"}''::daterange[], NULL'), ('''d'', ''{"[2013-01-01,2013-01-03)"}''::daterange[], ''1 month'''),
    ('''d'', ''{"[2013-01-01,2013-01-03)"}''::daterange[], ''0'''), ('''d'', ''{"[2013-01-01,2013-01-03)"}''::daterange[], ''-1 day'''),
    ('''d'', ''{"[2013-01-01,2013-01-04)"}''::daterange[], ''2 days'''), ('''t'', ''{"(2013-01-01,2013-01-04)"}''::tsrange[], ''1 day'''),
    ('''t'', ''{"[2013-01-01,2013-01-04]"}''::tsrange[], ''1 day'''), ('''t'', ''{"[2013-01-01,2014-01-01)"}''::tsrange[], ''1 second'''),
    ('''t'', ''{"[2013-01-01,2013-01-04)"}''::daterange[], ''1 day'''), ('''d'', ''{"[2013-01-01,2013-01-04)"}''::tsrange[], ''1 day'''),
    ('''t'', ''{"[2013-01-01,2013-01-04)"}''::tstzrange[], ''1 day'''), ('''d'', ''{"[1,5)"}''::int8range[]'),
    ('''d'', ''{"(,infinity)"}''::daterange[], ''1 day'''), ('''d'', ''{"[2013-01-01,2013-01-04)"}''::daterange[], ''1 day'', bounds => ''[2013-01-01,)'''),
    ('''d'', ''{"[2013-01-01,2013-01-04)"}''::daterange[], ''1 day'', bounds => ''[2013-01-01,infinity)'''),
    ('''d'', ''{"[2013-01-01,2013-01-04)"}''::daterange[], ''3 days'', bounds => ''[2013-01-01,2013-01-05)'''))
    AS bad(arguments), error_of(format('SELECT dp_range_sums(''events'', %s, epsilon => 1)', arguments)) AS e;
SELECT epsilon_spent - :spent AS spent FROM dp_budget('events');
