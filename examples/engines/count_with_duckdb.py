"""Counts households by state, county and size with DuckDB, from CSV files of persons and households."""

import sys

import duckdb

import leaves

persons, households = sys.argv[1:]
counted = duckdb.execute(
    """
    WITH sizes AS ( -- a person without a household, or with an unknown one, counts nowhere; a household without persons is of size 0
        SELECT h.state, h.county, coalesce(p.n, 0) AS size
          FROM read_csv(?) AS h
          LEFT JOIN (SELECT household, count(*) AS n FROM read_csv(?) GROUP BY household) AS p USING (household))
    SELECT state, county, map(list(size), list(households))
      FROM (SELECT state, county, size, count(*) AS households FROM sizes GROUP BY ALL) GROUP BY ALL
    """,
    [households, persons],
)
leaves.write(iter(counted.fetchone, None))
