-- Entities are counted alike whatever the type of their groups' key and the memory: in a table, in files, in files of
-- files, or by GROUP BY for keys such as numeric. The noise of epsilon = 1e6 is 0.
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE TABLE household AS
SELECT i AS k_bigint, i::smallint AS k_small, md5(i::text)::uuid AS k_uuid, repeat('x', (i % 200)::int) || i AS k_text,
       (i / 2.0)::numeric AS k_numeric, date '2000-01-01' + i::int AS k_date, (i % 3 + 1)::int AS k_part, (i / 3)::int AS k_rest,
       ('{red,green,blue}'::color[])[(i % 3 + 1)::int] AS k_color, (i / 3)::text::varchar AS k_varchar,
       'state ' || i % 7 AS state, (i % 11)::numeric AS county
  FROM generate_series(1, 9000::bigint) AS i;
CREATE TABLE person AS
SELECT k_bigint::int, k_small::bigint, k_uuid, k_text::varchar, k_numeric * 1.00 AS k_numeric, k_date,
       k_part::bigint, k_rest, k_color, k_varchar::text, state, county, (i % 5 - 1)::int AS size
  FROM household, generate_series(1, (k_bigint * 7919 % 4)::int) AS i;
INSERT INTO person (k_bigint, k_uuid) VALUES (-1, gen_random_uuid()), (NULL, NULL); -- of no group
INSERT INTO household (state, county) VALUES ('of no household', 1.10);

CREATE TABLE key AS
SELECT * FROM unnest(ARRAY['k_bigint', 'k_small', 'k_uuid', 'k_text', 'k_numeric', 'k_date', 'k_part,k_rest', 'k_color,k_varchar',
                           'k_uuid,k_text,k_date']) AS columns;
SELECT dp_create_dataset('groups ' || columns, 'person', string_to_array(columns, ','), '{state,county}', 'household', epsilon_budget => 1e9),
       dp_create_dataset('no groups ' || columns, 'person', string_to_array(columns, ','), '{state,county}', epsilon_budget => 1e9),
       dp_create_dataset('sizes ' || columns, 'person', string_to_array(columns, ','), '{state,county}', 'household', 'size',
                         epsilon_budget => 1e9)
  FROM key;

-- in how many rows a release differs from plain SQL
CREATE FUNCTION differences(dataset text, sizes text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    result bigint;
BEGIN
    EXECUTE format('
        WITH released AS (
            SELECT path[1] AS state, path[2] AS county, size, groups FROM dp_hierarchy_release(%L, 2e6, max_size => 4) WHERE level = 2),
        exact AS (SELECT state, county::text, least(size, 4) AS size, count(*) AS groups FROM (%s) AS s GROUP BY 1, 2, 3)
        SELECT count(*) FROM ((TABLE released EXCEPT TABLE exact) UNION ALL (TABLE exact EXCEPT TABLE released)) AS d', dataset, sizes)
        INTO result;
    RETURN result;
END $$;
CREATE FUNCTION differences(columns text) RETURNS TABLE (groups bigint, no_groups bigint, sizes bigint) LANGUAGE sql AS $$
SELECT differences('groups ' || columns, format('SELECT g.state, g.county, count(e) AS size FROM household AS g
                   LEFT JOIN person AS e USING (%s) WHERE g.k_bigint IS NOT NULL GROUP BY %1$s, 1, 2', columns)),
       differences('no groups ' || columns, format('SELECT state, county, count(*) AS size FROM person WHERE state IS NOT NULL
                   GROUP BY %s, 1, 2', columns)),
       differences('sizes ' || columns, format('SELECT g.state, g.county, coalesce(sum(greatest(e.size, 0)), 0) AS size FROM household AS g
                   LEFT JOIN person AS e USING (%s) WHERE g.k_bigint IS NOT NULL GROUP BY %1$s, 1, 2', columns))
$$;
SET work_mem = '64MB';
SELECT columns, d.* FROM key, differences(columns) AS d;
SET work_mem = '64kB'; SET hash_mem_multiplier = 1;
SELECT columns, d.* FROM key, differences(columns) AS d;

-- files are PostgreSQL's own: temp_file_limit counts them, and an error inside a subtransaction leaves none open
SET temp_file_limit = 0;
SET work_mem = '64MB';
SELECT count(*) > 0 AS in_memory FROM dp_hierarchy_release('groups k_bigint', 1e6);
SET work_mem = '64kB';
SELECT code FROM generate_series(1, 3) AS i, error_of('SELECT count(*) FROM dp_hierarchy_release(''groups k_bigint'', 1e6)');
RESET temp_file_limit;
SELECT count(*) > 0 AS in_files FROM dp_hierarchy_release('groups k_bigint', 1e6);

-- char(3) and char(5) pad alike for = only
CREATE TABLE narrow (k char(3), r text NOT NULL); INSERT INTO narrow VALUES ('a', 'r');
CREATE TABLE wide (k char(5)); INSERT INTO wide VALUES ('a'), ('a');
SELECT dp_create_dataset('padded', 'wide', '{k}', '{r}', 'narrow', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('padded', 1e6) WHERE level = 1;
