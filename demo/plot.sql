-- Draws one region's true and released histogram side by side, each bin's aircraft as a bar.
-- The region's path comes as a variable, as in  -v region='{JFK}'.
\pset format unaligned
\pset tuples_only on

WITH bin (lo, hi) AS (
    VALUES (0, 0), (1, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, 199), (200, 299), (300, NULL)
), binned AS (
    SELECT lo, hi, coalesce(t.aircraft, 0) AS exact, coalesce(r.aircraft, 0) AS released
      FROM bin
     CROSS JOIN LATERAL (
           SELECT sum(groups::bigint) AS aircraft
             FROM flights_true, jsonb_each_text(histogram::jsonb) AS run (size, groups)
            WHERE path = :'region' AND size::bigint <@ int8range(lo, hi, '[]')) AS t
     CROSS JOIN LATERAL (
           SELECT sum(groups) AS aircraft
             FROM flights_released
            WHERE path = :'region' AND size <@ int8range(lo, hi, '[]')) AS r
), bars AS (
    SELECT *, 30 / greatest(max(exact) OVER (), max(released) OVER (), 1) AS scale FROM binned
)
SELECT line
  FROM (SELECT -1 AS lo, format('%-11s %8s %-32s %8s', '  flights', 'true', '', 'released') AS line
        UNION ALL
        SELECT lo, rtrim(format('%9s   %8s %-32s %8s %s',
                   CASE WHEN lo = hi THEN lo::text ELSE lo || coalesce('-' || hi, '+') END,
                   to_char(exact, 'FM999,990'), repeat('#', round(exact * scale)::int),
                   to_char(released, 'FM999,990'), repeat('#', round(released * scale)::int)))
          FROM bars WHERE exact + released > 0) AS lines
 ORDER BY lo;
