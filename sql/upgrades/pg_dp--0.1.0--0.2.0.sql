\echo Use "ALTER EXTENSION pg_dp UPDATE" to load this file. \quit

-- From 0.1.0 to 0.2.0. tests/workflows/upgrade compares what it leads to with what the parts in sql/
-- make, and CONTRIBUTING.md tells how it is written.

SET LOCAL search_path = pg_catalog, pg_temp; -- as in 00_setup.sql

CREATE TABLE dp.release_region_bins (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- the regions' order: level by level
    path text[] NOT NULL,
    region text NOT NULL GENERATED ALWAYS AS (dp.region(path)) STORED,
    ranges @extschema@.dp_ranges NOT NULL,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_region_bins IS
    'the regions of stored releases of bins, which dp.release_region_ranges shows';

SELECT pg_catalog.pg_extension_config_dump('dp.release_region_bins', '');

CREATE FUNCTION @extschema@.dp_region_range_release(
        dataset text, bins_column text, bounds int8range, epsilon float8, delta float8 DEFAULT 0,
        method text DEFAULT 'auto', budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        max_amount bigint DEFAULT 1)
    RETURNS TABLE (level int, path text[], ranges @extschema@.dp_ranges)
    AS 'MODULE_PATHNAME', 'dp_region_range_release_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_release(
        text, text, int8range, float8, float8, text, float8[], text, bigint)
    IS 'releases counts of bins of each region, which were counted elsewhere';

CREATE OR REPLACE VIEW dp.releases WITH (security_barrier) AS
    SELECT r.dataset, r.release AS name, r.released_at, c.epsilon, c.delta, r.parameters,
           nullif((SELECT count(*) FROM dp.release_region AS g WHERE g.release = r.id)
                  + (SELECT count(*) FROM dp.release_region_sums AS g WHERE g.release = r.id)
                  + (SELECT count(*) FROM dp.release_region_bins AS g WHERE g.release = r.id), 0)
               AS regions,
           r.level_epsilons, c.function, r.status, r.status_since, r.title, r.description, r.valid,
           c.charged_by AS released_by, p.name AS publication
      FROM dp.known_release AS r
      JOIN dp.charge AS c ON c.id = r.charge
      LEFT JOIN dp.publication AS p ON p.id = r.publication;

CREATE VIEW dp.region_range_answer AS
    SELECT g.release, g.region, g.path, q.grain, q.lower_bound, q.upper_bound, v.sum, v.stddev
      FROM dp.release_region_sums AS g
     CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(g.sums), pg_catalog.unnest(g.stddevs))
           WITH ORDINALITY AS v (sum, stddev, n)
      JOIN dp.release_range AS q ON (q.release, q.n) = (g.release, v.n - 1)
    UNION ALL
    SELECT g.release, g.region, g.path, '1', b.bin::text, (b.bin + 1)::text, b.value, b.stddev
      FROM dp.release_region_bins AS g CROSS JOIN LATERAL @extschema@.dp_unnest(g.ranges) AS b;
COMMENT ON VIEW dp.region_range_answer IS
    'behind dp.region_range_rows, the sums of stored releases by region, whoever they are for';

CREATE OR REPLACE VIEW dp.region_range_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, pg_catalog.cardinality(s.path) AS level,
           coalesce(r.hierarchy[pg_catalog.cardinality(s.path)], 'all') AS level_name,
           s.region, s.path, s.grain, s.lower_bound, s.upper_bound, s.sum, s.stddev,
           s.sum - 1.6448536269514722 * s.stddev AS low,
           s.sum + 1.6448536269514722 * s.stddev AS high
      FROM dp.shown_release AS r JOIN dp.region_range_answer AS s ON s.release = r.id;
COMMENT ON VIEW dp.region_range_rows IS
    'the sums of all stored releases of ranges by region, and the bins of those that answer any range';

CREATE VIEW dp.release_region_ranges WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, pg_catalog.cardinality(g.path) AS level,
           coalesce(r.hierarchy[pg_catalog.cardinality(g.path)], 'all') AS level_name,
           g.region, g.path, g.ranges
      FROM dp.shown_release AS r JOIN dp.release_region_bins AS g ON g.release = r.id;
COMMENT ON VIEW dp.release_region_ranges IS
    'the stored releases that answer any range in any region, a value for each region';
COMMENT ON COLUMN dp.release_region_ranges.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_region_ranges.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_region_ranges.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.release_region_ranges.level IS 'the level of the hierarchy, 0 for the root';
COMMENT ON COLUMN dp.release_region_ranges.level_name IS
    'the column of the hierarchy with the names of this level, or all for the root';
COMMENT ON COLUMN dp.release_region_ranges.region IS
    'the path as text, such as Ohio/Adams, or (all) for the root, with \ before / or \ in a name';
COMMENT ON COLUMN dp.release_region_ranges.path IS
    'the names of the region, from the top level down, {} for the root';
COMMENT ON COLUMN dp.release_region_ranges.ranges IS 'what dp_region_range_release gave';

GRANT SELECT ON dp.release_region_ranges TO PUBLIC;

-- With the rights of the caller, who owns the view, under a search_path where nothing is theirs.
CREATE OR REPLACE FUNCTION dp.create_view(dataset text, view_name text, release text, schema_name text)
    RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    own CONSTANT text[] := '{release,released_at,level,level_name,is_leaf,region,size,groups,
                             entities,size_band,size_band_order}';
    target text[];
    hierarchy text[];
    taken text[];
    level_columns text := '';
    level_column text;
    function text;
    value_type text;
BEGIN
    IF dataset IS NULL OR view_name IS NULL THEN
        RAISE '% must not be NULL', CASE WHEN dataset IS NULL THEN 'dataset' ELSE 'view_name' END
            USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the dataset and the new view.';
    END IF;

    BEGIN
        target := parse_ident(view_name);
    EXCEPTION WHEN invalid_parameter_value THEN
        target := '{}';
    END;
    IF cardinality(target) NOT IN (1, 2) THEN
        RAISE 'view_name: "%" is not the name of a view', view_name
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Write it as in SQL: census, bi.census or "Census 2026".';
    END IF;
    IF cardinality(target) = 1 THEN
        IF schema_name IS NULL THEN
            RAISE 'view_name: no schema has been selected to create "%" in', view_name
                USING ERRCODE = 'invalid_schema_name',
                      HINT = 'Write schema.name, or set search_path.';
        END IF;
        target := schema_name || target;
    END IF;

    IF NOT EXISTS (SELECT FROM dp.releases AS r WHERE r.dataset = $1) THEN
        RAISE 'dataset "%" does not exist, or has no stored release', dataset
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.releases lists the stored releases.';
    END IF;
    IF release IS NOT NULL THEN
        SELECT r.function, r.parameters ->> 'value_type' INTO function, value_type
          FROM dp.releases AS r
         WHERE (r.dataset, r.name) = ($1, $3) AND r.status <> 'retracted';
        IF function IS NULL THEN
            RAISE 'release "%" of dataset "%" does not exist', release, dataset
                USING ERRCODE = 'undefined_object',
                      HINT = 'The view dp.releases lists the stored releases.';
        ELSIF function = 'dp_rectangle_sums' THEN
            RAISE 'release "%" of dataset "%" has rectangles, which have no such view',
                  release, dataset
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = 'The view dp.rectangle_rows shows them.';
        END IF;
    ELSIF NOT EXISTS (SELECT FROM dp.release_histograms AS h WHERE h.dataset = $1) THEN
        SELECT min(r.parameters ->> 'value_type') INTO value_type
          FROM dp.releases AS r
         WHERE r.dataset = $1 AND r.status <> 'retracted'
           AND r.function NOT IN ('dp_region_range_sums', 'dp_region_range_release',
                                  'dp_stream_create')
        HAVING count(DISTINCT r.parameters ->> 'value_type') = 1;
        IF value_type IS NULL AND EXISTS (SELECT FROM dp.streams AS s WHERE s.dataset = $1) THEN
            RAISE 'dataset "%" has streams, each of which has a view of its own', dataset
                USING ERRCODE = 'undefined_object', HINT = 'Name one stream.';
        ELSIF value_type IS NULL THEN
            RAISE 'dataset "%" has ranges of several types, or no release that is shown', dataset
                USING ERRCODE = 'undefined_object', HINT = 'Name one release.';
        END IF;
    END IF;
    IF function = 'dp_stream_create' THEN
        EXECUTE format(
            'CREATE VIEW %1$I.%2$I AS
             SELECT s.stream, s.tick, s.lower_bound::%3$s, s.upper_bound::%3$s, s.count, s.stddev,
                    s.total, s.total_stddev, s.released_at
               FROM dp.stream_ticks AS s WHERE s.dataset = %4$L AND s.stream = %5$L',
            target[1], target[2], value_type::regtype, dataset, release);
        RETURN;
    END IF;
    IF value_type IS NOT NULL THEN
        EXECUTE format(
            'CREATE VIEW %1$I.%2$I AS
             SELECT s.release, %6$s s.grain, s.lower_bound::%3$s, s.upper_bound::%3$s, s.sum,
                    s.stddev, s.low, s.high
               FROM dp.%7$I AS s WHERE s.dataset = %4$L AND %5$s',
            target[1], target[2], value_type::regtype, dataset,
            CASE WHEN release IS NOT NULL THEN format('s.release = %L', release)
                 ELSE format('s.release IN (SELECT r.name FROM dp.releases AS r WHERE r.dataset = %L '
                             'AND r.parameters ->> ''value_type'' = %L)', dataset, value_type) END,
            CASE WHEN function LIKE 'dp_region_range_%'
                 THEN 's.level, s.level_name, s.region, s.path,' ELSE '' END,
            CASE WHEN function LIKE 'dp_region_range_%' THEN 'region_range_rows'
                 ELSE 'range_rows' END);
        RETURN;
    END IF;

    hierarchy := ARRAY(SELECT r.level_name FROM dp.release_regions AS r
                        WHERE r.dataset = $1 AND r.level > 0
                        GROUP BY r.level, r.level_name ORDER BY r.level);
    taken := own || hierarchy;
    FOR level IN 1 .. cardinality(hierarchy) LOOP
        level_column := hierarchy[level];
        IF level_column = ANY (own) THEN
            WHILE level_column = ANY (taken) LOOP
                level_column := level_column || '_name';
            END LOOP;
            taken := taken || level_column;
            RAISE NOTICE 'column "%" of the hierarchy is "%" in the view',
                         hierarchy[level], level_column;
        END IF;
        level_columns := level_columns || format('s.path[%s] AS %I, ', level, level_column);
    END LOOP;

    EXECUTE format(
        'CREATE VIEW %I.%I AS
         SELECT s.release, s.released_at, s.level, s.level_name, %s s.is_leaf, s.region, s.size,
                s.groups, s.entities, s.size_band, s.size_band_order
           FROM dp.release_sizes AS s WHERE s.dataset = %L %s',
        target[1], target[2], level_columns, dataset,
        CASE WHEN release IS NOT NULL THEN format('AND s.release = %L', release) END);
END $$;

-- The rows of the views of stored releases as COPY writes them, but for floating point: what COPY
-- writes of it depends on extra_float_digits, so here are its bytes in hexadecimal.
CREATE OR REPLACE VIEW dp.release_line AS
    SELECT g.release, 'level,path,size,groups' AS columns,
           pg_catalog.concat_ws(',', pg_catalog.cardinality(g.path), dp.csv(g.path::text), h.size,
                                h.groups) AS line
      FROM dp.release_region AS g CROSS JOIN LATERAL @extschema@.dp_unnest(g.histogram) AS h
    UNION ALL
    SELECT s.release, 'grain,lower_bound,upper_bound,sum,stddev',
           pg_catalog.format('%s,%s,%s,%s,%s', s.grain, s.lower_bound, s.upper_bound,
                             pg_catalog.encode(pg_catalog.float8send(s.sum), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(s.stddev), 'hex'))
      FROM dp.range_answer AS s
    UNION ALL
    SELECT s.release, 'row_lower,row_upper,column_lower,column_upper,sum,stddev',
           pg_catalog.format('%s,%s,%s,%s,%s,%s', s.row_lower, s.row_upper, s.column_lower,
                             s.column_upper,
                             pg_catalog.encode(pg_catalog.float8send(s.sum), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(s.stddev), 'hex'))
      FROM dp.release_rectangle AS s
    UNION ALL
    SELECT s.release, 'path,grain,lower_bound,upper_bound,sum,stddev',
           pg_catalog.format('%s,%s,%s,%s,%s,%s', dp.csv(s.path::text), s.grain, s.lower_bound,
                             s.upper_bound, pg_catalog.encode(pg_catalog.float8send(s.sum), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(s.stddev), 'hex'))
      FROM dp.region_range_answer AS s
    UNION ALL -- those so far
    SELECT t.release, 'tick,lower_bound,upper_bound,count,stddev,total,total_stddev',
           pg_catalog.format('%s,%s,%s,%s,%s,%s,%s', t.n, t.lower_bound, t.upper_bound,
                             pg_catalog.encode(pg_catalog.float8send(t.count), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(t.stddev), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(t.total), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(t.total_stddev), 'hex'))
      FROM dp.stream_tick AS t;

-- Nothing in it is more than the release itself tells, its charge, and how its dataset was declared.
-- An optional field is left out where nothing is known.
CREATE OR REPLACE VIEW dp.release_certificates WITH (security_barrier) AS
    SELECT r.dataset, r.release,
           pg_catalog.jsonb_build_object(
               'release', jsonb_strip_nulls(jsonb_build_object(
                   'dataset', r.dataset, 'name', r.release, 'function', c.function,
                   'counted_by', CASE WHEN c.function IN ('dp_coco_histogram', 'dp_range_release')
                                      THEN 'the caller, who may read the private table' END,
                   'charged_at', t.charged_at, 'charged_by', c.charged_by,
                   'stored_at', t.stored_at, 'status', r.status, 'title', r.title,
                   'valid', r.valid, 'regions_per_level', l.regions))
                   || jsonb_build_object('arguments', r.parameters),
               'flavour', jsonb_build_object(
                   'definition', CASE WHEN c.delta = 0 THEN 'pure differential privacy'
                                      ELSE 'approximate differential privacy' END,
                   'model', 'central',
                   'neighbours', 'one unit more or less'),
               'unit', CASE
                   WHEN d.privacy_unit IS NOT NULL
                   THEN jsonb_build_object('is', 'all rows with one value of a column',
                                           'column', d.privacy_unit,
                                           'max_rows_per_unit', d.max_rows_per_unit)
                   WHEN d.size_column IS NOT NULL
                   THEN jsonb_build_object('is', 'one more or less of what a column counts',
                                           'column', d.size_column)
                   ELSE jsonb_build_object('is', 'one row of the private table') END,
               'parameters', jsonb_build_object(
                   'epsilon', trim_scale(c.epsilon), 'delta', trim_scale(c.delta),
                   'rho', trim_scale(c.rho)),
               'mechanism', c.parameters,
               'public', jsonb_build_object(
                   'groups', coalesce('those of the table ' || d.groups_name,
                                      'those that occur in the rows, by declaration'),
                   'group_key', d.group_key, 'hierarchy', d.hierarchy),
               'not_protected', 'what is public, how long a release takes, and what'
                                ' docs/guarantee.md#what-remains says',
               'accuracy', CASE
                   WHEN r.level_epsilons IS NULL THEN '{}'
                   ELSE jsonb_build_object(
                       'level_epsilons', r.level_epsilons,
                       'error_bars', format('dp_hierarchy_intervals(%L, %L)', r.dataset, r.release)) END,
               'implementation', jsonb_build_object(
                   'pg_dp', x.extversion, 'postgresql', current_setting('server_version'),
                   'guarantee', 'docs/guarantee.md'),
               'ledger', jsonb_strip_nulls(jsonb_build_object(
                   'id', c.id,
                   'previous_hash', (SELECT encode(p.hash, 'hex') FROM dp.charge AS p
                                      WHERE p.id = c.id - 1),
                   'entry', dp.charge_entry(c.id, c.epoch, c.charged_at, c.charged_by, c.dataset,
                                            c.function, c.epsilon, c.delta, c.rho, c.parameters, c.nonce),
                   'hash', encode(c.hash, 'hex'))))
           -- what is retracted could be found by hashing guesses
           || CASE WHEN r.status = 'retracted' THEN '{}' ELSE jsonb_build_object(
                  'rows', jsonb_build_object('columns', s.columns, 'count', s.count,
                                             'sha256', s.sha256)) END AS certificate
      FROM dp.known_release AS r
      JOIN dp.dataset AS d ON d.id = r.dataset_id
      JOIN dp.charge AS c ON c.id = r.charge
      JOIN pg_catalog.pg_extension AS x ON x.extname = 'pg_dp'
     CROSS JOIN LATERAL (
        SELECT to_char(c.charged_at AT TIME ZONE 'UTC', f.format),
               to_char(r.released_at AT TIME ZONE 'UTC', f.format)
          FROM (VALUES ('YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) AS f (format)
      ) AS t (charged_at, stored_at)
     CROSS JOIN LATERAL (
        SELECT jsonb_agg(n.regions ORDER BY n.level)
          FROM (SELECT cardinality(g.path) AS level, count(*) AS regions
                  FROM (SELECT h.release, h.path FROM dp.release_region AS h
                        UNION ALL
                        SELECT s.release, s.path FROM dp.release_region_sums AS s
                        UNION ALL
                        SELECT b.release, b.path FROM dp.release_region_bins AS b) AS g
                 WHERE g.release = r.id GROUP BY level) AS n
      ) AS l (regions)
     CROSS JOIN LATERAL (
        SELECT count(*), coalesce(min(v.columns), 'level,path,size,groups') AS columns,
               encode(sha256(convert_to(
                   coalesce(string_agg(v.line || E'\n', '' ORDER BY v.line COLLATE "C"), ''),
                   'UTF8')), 'hex') AS sha256
          FROM dp.release_line AS v
         WHERE v.release = r.id AND r.status <> 'retracted'
      ) AS s;

CREATE OR REPLACE FUNCTION @extschema@.dp_plot(
        dataset text, release text, path text[] DEFAULT '{}', grain text DEFAULT NULL)
    RETURNS TABLE (label text, value float8, lower float8, upper float8, plot text)
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 25 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cells CONSTANT int := 40; -- of the widest bar
    of_sizes boolean;
BEGIN
    IF dataset IS NULL OR release IS NULL OR path IS NULL THEN
        RAISE '% must not be NULL', CASE WHEN dataset IS NULL THEN 'dataset'
                                         WHEN release IS NULL THEN 'release' ELSE 'path' END
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'Name a stored release, and the path of a region: {} for the root.';
    END IF;

    of_sizes := EXISTS (SELECT FROM dp.release_regions AS r
                         WHERE (r.dataset, r.release) = ($1, $2));
    IF of_sizes AND NOT EXISTS (SELECT FROM dp.release_regions AS r
                                 WHERE (r.dataset, r.release, r.path) = ($1, $2, $3)) THEN
        RAISE 'release "%" of dataset "%" has no region %', $2, $1, $3
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.release_regions lists the regions, each with its path.';
    ELSIF EXISTS (SELECT FROM dp.releases AS r
                   WHERE (r.dataset, r.name) = ($1, $2) AND r.status <> 'retracted'
                     AND r.function IN ('dp_region_range_sums', 'dp_region_range_release',
                                        'dp_rectangle_sums')) THEN
        RAISE 'release "%" of dataset "%" is of ranges by region or of rectangles: no plot of these',
              $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The views dp.region_range_rows and dp.rectangle_rows show them.';
    ELSIF EXISTS (SELECT FROM dp.streams AS s WHERE (s.dataset, s.stream) = ($1, $2)) THEN
        RAISE 'release "%" of dataset "%" is a stream: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.stream_ticks shows its ticks; dp_create_view makes one for'
                         ' dashboards.';
    ELSIF NOT of_sizes AND NOT EXISTS (SELECT FROM dp.range_rows AS r
                                        WHERE (r.dataset, r.release) = ($1, $2)) THEN
        RAISE 'release "%" of dataset "%" does not exist', $2, $1
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.releases lists the stored releases.';
    ELSIF NOT of_sizes AND $3 <> '{}' THEN
        RAISE 'release "%" of dataset "%" is of ranges, which has no regions', $2, $1
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out path.';
    ELSIF of_sizes AND $4 IS NOT NULL THEN
        RAISE 'release "%" of dataset "%" is of sizes, which has no grain', $2, $1
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out grain.';
    ELSIF $4 IS NOT NULL AND NOT EXISTS (SELECT FROM dp.range_rows AS r
                                         WHERE (r.dataset, r.release, r.grain) = ($1, $2, $4)) THEN
        RAISE 'release "%" of dataset "%" has no range of grain "%"', $2, $1, $4
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.range_rows shows the ranges, each with its grain.';
    END IF;

    RETURN QUERY
    WITH numbers AS (
        SELECT * FROM dp.plot_of_sizes($1, $2, $3) WHERE of_sizes
        UNION ALL
        SELECT row_number() OVER (ORDER BY CASE WHEN r.lower_bound ~ '^-?[0-9]+$'
                                                THEN r.lower_bound::numeric END, r.lower_bound),
               coalesce(regexp_replace(r.lower_bound, 'T00:00:00$', ''), '(before)'),
               r.sum, round(r.low::numeric, 1)::float8, round(r.high::numeric, 1)::float8
          FROM dp.range_rows AS r
         WHERE (r.dataset, r.release) = ($1, $2) AND NOT of_sizes
           AND r.grain = coalesce($4, (SELECT g.grain FROM dp.range_rows AS g
                                        WHERE (g.dataset, g.release) = ($1, $2)
                                        GROUP BY g.grain ORDER BY count(*) DESC, g.grain LIMIT 1))
    ), scaled AS (
        SELECT m.*, cells / nullif(greatest(max(coalesce(m.upper, m.value)) OVER (), 0), 0) AS scale
          FROM numbers AS m
    )
    SELECT s.label, s.value, s.lower, s.upper,
           CASE WHEN s.value > 0 AND c.upper = 0 THEN '▏' -- too small for a cell
                ELSE repeat('█', c.lower) || repeat('▒', c.value - c.lower)
                     || repeat('░', c.upper - c.value) END
      FROM scaled AS s
     CROSS JOIN LATERAL (
        SELECT coalesce(round(greatest(s.lower, 0) * s.scale)::int, 0) AS lower,
               coalesce(round(greatest(s.value, 0) * s.scale)::int, 0) AS value,
               coalesce(round(greatest(s.upper, 0) * s.scale)::int, 0) AS upper) AS c
     ORDER BY s.n;
END $$;
