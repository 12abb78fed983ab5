-- Made-up groups with their sizes in a made-up nation, :groups of them, of which most are small and some large, as
-- benches/regions.sql makes them. In no order. The same on every run.

SELECT setseed(0.5);

CREATE UNLOGGED TABLE sized AS
SELECT (1 + floor(52 * sqrt(county / 3144)))::smallint AS state,
       county::int,
       least(10000, CASE WHEN kind < 0.98 THEN 1 + floor(ln(1 - u) / ln(0.6)) ELSE floor(10 / (1 - u)) END)::int AS size
  FROM (SELECT floor(3144 * random() ^ 2) AS county, random() AS kind, random() AS u
          FROM generate_series(1, :groups::bigint)) AS draws;

VACUUM ANALYZE sized;
SELECT dp_create_dataset('sized', 'sized', '{}', '{state,county}', size_column => 'size', epsilon_budget => 1e6);
