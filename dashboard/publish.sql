-- What the dashboard reads, made of the demo's dataset flights; docs/dashboard.md tells about each part. All of it may
-- be published. It may run again: what was released under a name is not charged again.
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;

BEGIN;
DROP VIEW IF EXISTS flights_sizes, flights_regions;

CALL dp_create_view('flights', 'flights_sizes', 'demo');

CALL dp_keep_intervals('flights', 'demo');
CREATE VIEW flights_regions AS
SELECT level_name, path[1] AS origin, path[2] AS carrier, is_leaf, region, groups AS aircraft,
       entities AS flights, entities_lower AS flights_low, entities_upper AS flights_high,
       mean_size AS mean, mean_size_lower AS mean_low, mean_size_upper AS mean_high,
       median, median_lower AS median_low, median_upper AS median_high,
       p90, p90_lower AS p90_low, p90_upper AS p90_high
  FROM dp.release_regions
 WHERE dataset = 'flights' AND release = 'demo';
COMMENT ON COLUMN flights_regions.level_name IS 'all, origin for an airport, or carrier for an airline there';
COMMENT ON COLUMN flights_regions.is_leaf IS 'whether it is an airline at an airport: these add up to the others';
COMMENT ON COLUMN flights_regions.aircraft IS 'how many there are, which is public';
COMMENT ON COLUMN flights_regions.flights IS 'how many flights they made';
COMMENT ON COLUMN flights_regions.flights_low IS 'nine bars in ten hold the true number: the lower end';
COMMENT ON COLUMN flights_regions.flights_high IS 'nine bars in ten hold the true number: the upper end';
COMMENT ON COLUMN flights_regions.mean IS 'flights per aircraft';
COMMENT ON COLUMN flights_regions.median IS 'the number of flights that half of the aircraft do not exceed';
COMMENT ON COLUMN flights_regions.p90 IS 'the number of flights that nine aircraft in ten do not exceed';
COMMIT;

-- Departures by day and by month. With so small an epsilon the band can be seen.
SELECT count(*) AS departures
  FROM dp_range_sums('flights', 'departure', ARRAY(
           SELECT tsrange(start, start + step)
             FROM (VALUES (interval '1 day'), ('1 month')) AS steps (step),
                  generate_series(timestamp '2013-01-01', '2013-12-31', step) AS start),
           bin_width => '1 day', epsilon => 0.05, name => 'departures') \gset
DROP VIEW IF EXISTS flights_departures;
CALL dp_create_view('flights', 'flights_departures', 'departures');

-- Superset's role may read these three, and what every role may read.
SELECT 'CREATE ROLE dashboard LOGIN' WHERE to_regrole('dashboard') IS NULL \gexec
GRANT SELECT ON flights_sizes, flights_regions, flights_departures TO dashboard;
