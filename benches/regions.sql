-- Made-up groups in a made-up nation: 52 states with 2 to 119 counties each, 3,144 in all, of 400 to
-- 54,000 groups. The same on every run.

SELECT setseed(0.5);

-- Most sizes are nearly geometric, as those of households are; one in fifty comes from a tail like
-- 10 / size, up to the 10,000 at which such a release would cap them.
CREATE TABLE groups AS
SELECT 1 + floor(52 * sqrt(county / 3144))::int AS state,
       county::int,
       least(10000, CASE WHEN kind < 0.98 THEN 1 + floor(ln(1 - u) / ln(0.6)) ELSE floor(10 / (1 - u)) END)::int AS size
  FROM (SELECT floor(3144 * random() ^ 2) AS county, random() AS kind, random() AS u
          FROM generate_series(1, 3000000)) AS draws;

VACUUM ANALYZE groups;
