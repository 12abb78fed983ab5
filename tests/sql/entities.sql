-- Entities are counted alike whatever the type of their groups' key and the memory: in a table, in files, in files of
-- files, or by GROUP BY for keys such as numeric. The noise of epsilon = 1e6 is 0.
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE TABLE household AS
SELECT i AS k_bigint, i::smallint AS k_small, md5(i::text)::uuid AS k_uuid, repeat('x', i % 200) || i AS k_text,
       (i / 2.0)::numeric AS k_numeric, date '2000-01-01' + i AS k_date, (i % 3 + 1)::int AS k_part, (i / 3)::int AS k_rest,
       ('{red,green,blue}'::color[])[i % 3 + 1] AS k_color, (i / 3)::text::varchar AS k_varchar,
       'state ' || i % 7 AS state, (i % 11)::numeric AS county
  FROM generate_series(1, 9000::bigint) AS i;
CREATE TABLE person AS
SELECT k_bigint::int, k_small::bigint, k_uuid, k_text::varchar, k_numeric * 1.00 AS k_numeric, k_date,
       k_part::bigint, k_rest, k_color, k_varchar::text, state, county, (i % 5 - 1)::int AS size
  FROM household, generate_series(1, (k_bigint * 7919 % 4)::int) AS i;
INSERT INTO person (k_bigint, k_uuid) VALUES (-1, gen_random_uuid()), (NULL, NULL); -- of no group
INSERT INTO household (state, county) VALUES ('of no household', 1.10);

-- how many rows of a release differ from plain SQL; with groups, without, with sizes
CREATE FUNCTION differences(key text, memory text) RETURNS TABLE (with_groups bigint, without bigint, sizes bigint)
LANGUAGE plpgsql AS $$
DECLARE
    leaf CONSTANT text := 'SELECT path[1], path[2], size, groups FROM dp_hierarchy_release(''d'', 2e6, max_size => 4) WHERE level = 2';
    exact CONSTANT text := 'SELECT state, county::text, least(size, 4), count(*) FROM (%s) AS s GROUP BY 1, 2, 3';
    compare CONSTANT text := 'WITH a AS (%s), b AS (%s) SELECT count(*) FROM ((TABLE a EXCEPT TABLE b) UNION ALL (TABLE b EXCEPT TABLE a)) AS d';
    columns CONSTANT text[] := string_to_array(key, ',');
BEGIN
    PERFORM set_config('work_mem', memory, true), set_config('hash_mem_multiplier', '1', true);
    PERFORM dp_create_dataset('d', 'person', columns, '{state,county}', 'household', epsilon_budget => 1e9);
    EXECUTE format(compare, leaf, format(exact, format('SELECT g.state, g.county, count(e) AS size
        FROM household AS g LEFT JOIN person AS e USING (%s) WHERE g.k_bigint IS NOT NULL GROUP BY %1$s, 1, 2', key))) INTO with_groups;
    PERFORM dp_drop_dataset('d');
    PERFORM dp_create_dataset('d', 'person', columns, '{state,county}', epsilon_budget => 1e9);
    EXECUTE format(compare, leaf, format(exact, format('SELECT state, county, count(*) AS size
        FROM person WHERE state IS NOT NULL GROUP BY %s, 1, 2', key))) INTO without;
    PERFORM dp_drop_dataset('d');
    PERFORM dp_create_dataset('d', 'person', columns, '{state,county}', 'household', 'size', epsilon_budget => 1e9);
    EXECUTE format(compare, leaf, format(exact, format('SELECT g.state, g.county, coalesce(sum(greatest(e.size, 0)), 0) AS size
        FROM household AS g LEFT JOIN person AS e USING (%s) WHERE g.k_bigint IS NOT NULL GROUP BY %1$s, 1, 2', key))) INTO sizes;
    PERFORM dp_drop_dataset('d');
    RETURN NEXT;
END $$;

SELECT key, memory, d.*
  FROM unnest('{64kB,64MB}'::text[]) AS memory,
       unnest(ARRAY['k_bigint', 'k_small', 'k_uuid', 'k_text', 'k_numeric', 'k_date', 'k_part,k_rest', 'k_color,k_varchar',
                    'k_uuid,k_text,k_date']) AS key,
       differences(key, memory) AS d
 ORDER BY key, memory;

-- a region without groups is one
SELECT dp_create_dataset('d', 'person', '{k_bigint}', '{state}', 'household', epsilon_budget => 1e9);
SELECT level, path, size FROM dp_hierarchy_release('d', 1e6) WHERE path = '{of no household}';
SELECT count(DISTINCT path) FROM dp_hierarchy_release('d', 1e6, max_size => 3, estimators => '{Hc}');

-- files are PostgreSQL's own: temp_file_limit counts them, and an error inside a subtransaction leaves none open
SET temp_file_limit = 0;
SET work_mem = '64MB';
SELECT count(*) > 0 AS in_memory FROM dp_hierarchy_release('d', 1e6);
SET work_mem = '64kB';
SELECT code FROM generate_series(1, 3) AS i, error_of('SELECT count(*) FROM dp_hierarchy_release(''d'', 1e6)');
RESET temp_file_limit;
SELECT count(*) > 0 AS in_files FROM dp_hierarchy_release('d', 1e6);

-- char(3) and char(5) pad alike for = only
CREATE TABLE narrow (k char(3), r text NOT NULL); INSERT INTO narrow VALUES ('a', 'r');
CREATE TABLE wide (k char(5)); INSERT INTO wide VALUES ('a'), ('a');
SELECT dp_create_dataset('padded', 'wide', '{k}', '{r}', 'narrow', epsilon_budget => 1e9);
SELECT * FROM dp_hierarchy_release('padded', 1e6) WHERE level = 1;
