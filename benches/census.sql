-- The made-up census, given as runs: the rows that reports/census prints, and one histogram for each county.

CREATE TABLE run (state text, county text, size bigint, groups bigint);
\copy run FROM PROGRAM 'cargo run -q --profile pure --no-default-features --example census'

CREATE TABLE census AS
SELECT state, county, format('{%s}', string_agg(size || ':' || groups, ','))::coco AS histogram FROM run GROUP BY state, county;

VACUUM ANALYZE run, census;
SELECT dp_create_dataset('census', 'census', '{}', '{state,county}', size_column => 'histogram', epsilon_budget => 1e6);
