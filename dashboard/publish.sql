-- What the dashboard reads, made of the demo's dataset flights; docs/dashboard.md tells about each part. All of it may
-- be published. It may run again: what was released under a name is not charged again.
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;

BEGIN;
DROP VIEW IF EXISTS flights_sizes;
DROP TABLE IF EXISTS flights_regions;

CALL dp_create_view('flights', 'flights_sizes', 'demo');

-- Error bars take as long as nine releases, so they are computed once.
CREATE TABLE flights_regions AS
SELECT r.level_name, r.path[1] AS origin, r.path[2] AS carrier, r.is_leaf, r.region,
       r.groups AS aircraft, bars.*
  FROM dp.release_regions AS r
  JOIN (SELECT path,
               max(value) FILTER (WHERE statistic = 'entities') AS flights,
               max(lower) FILTER (WHERE statistic = 'entities') AS flights_low,
               max(upper) FILTER (WHERE statistic = 'entities') AS flights_high,
               max(value) FILTER (WHERE statistic = 'mean_size') AS mean,
               max(lower) FILTER (WHERE statistic = 'mean_size') AS mean_low,
               max(upper) FILTER (WHERE statistic = 'mean_size') AS mean_high,
               max(value) FILTER (WHERE statistic = 'median') AS median,
               max(lower) FILTER (WHERE statistic = 'median') AS median_low,
               max(upper) FILTER (WHERE statistic = 'median') AS median_high,
               max(value) FILTER (WHERE statistic = 'p90') AS p90,
               max(lower) FILTER (WHERE statistic = 'p90') AS p90_low,
               max(upper) FILTER (WHERE statistic = 'p90') AS p90_high
          FROM dp_hierarchy_intervals('flights', 'demo') GROUP BY path) AS bars USING (path)
 WHERE r.dataset = 'flights' AND r.release = 'demo';
ALTER TABLE flights_regions DROP path;
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
