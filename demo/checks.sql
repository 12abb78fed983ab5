-- Counts what is wrong with the release in flights_released, over every row, region and size. Any
-- violation is an error.

CREATE TEMPORARY TABLE checks AS

SELECT 1 AS n, 'sizes and numbers of aircraft are integers' AS "check",
       count(*) || ' rows' AS checked,
       count(*) FILTER (WHERE pg_typeof(size) <> 'bigint'::regtype OR size % 1 <> 0
                           OR pg_typeof(groups) <> 'bigint'::regtype OR groups % 1 <> 0
                       ) AS violations
  FROM flights_released

UNION ALL
SELECT 2, 'none of them is negative', count(*) || ' rows',
       count(*) FILTER (WHERE (size >= 0 AND groups >= 0) IS NOT TRUE)
  FROM flights_released

UNION ALL
SELECT 3, 'no region has two rows for one size', count(*) || ' rows',
       count(*) - count(DISTINCT (path, size))
  FROM flights_released

UNION ALL
SELECT 4, 'a region has as many aircraft as the public table', count(*) || ' regions',
       count(*) FILTER (WHERE released IS DISTINCT FROM public)
  FROM (SELECT path, sum(groups) AS released FROM flights_released GROUP BY path) AS r
  FULL JOIN (SELECT array_remove(ARRAY[origin, carrier], NULL) AS path, count(*) AS public
               FROM aircraft GROUP BY ROLLUP (origin, carrier)) AS p USING (path)

UNION ALL
SELECT 5, 'airlines add up to their airport, airports to New York', count(*) || ' sizes',
       count(*) FILTER (WHERE parent IS DISTINCT FROM children)
  FROM (SELECT path, size, groups AS parent FROM flights_released WHERE level < 2) AS p
  FULL JOIN (SELECT path[:level - 1] AS path, size, sum(groups) AS children
               FROM flights_released WHERE level > 0 GROUP BY 1, 2) AS c USING (path, size);

SELECT "check", checked, violations FROM checks ORDER BY n;

DO $$
BEGIN
    IF (SELECT sum(violations) FROM checks) <> 0 THEN
        RAISE EXCEPTION 'the release violates what it promises';
    END IF;
END
$$;
