-- Whatever is computed from a released table is free.
SELECT state, sum(households) AS households, sum(size * households) AS persons
  FROM {{ ref('household_sizes') }} WHERE level = 1 GROUP BY state
