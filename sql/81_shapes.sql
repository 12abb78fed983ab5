-- Releases in the shapes that BI tools take ------------------------------------------------------

-- The barrier keeps the functions of a query away from datasets without a stored release. The views
-- on top have none, so that rows of dp.release_sizes are made of the regions alone that a query
-- filters, whatever its filter is.
CREATE VIEW dp.release_histograms WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, pg_catalog.cardinality(g.path) AS level,
           coalesce(r.hierarchy[pg_catalog.cardinality(g.path)], 'all') AS level_name,
           g.region, g.parent, g.path,
           pg_catalog.cardinality(g.path) = pg_catalog.cardinality(r.hierarchy) AS is_leaf,
           g.groups, g.entities, g.mean_size, g.median, g.p90, g.gini, g.histogram,
           i.entities_lower, i.entities_upper, i.mean_size_lower, i.mean_size_upper,
           i.median_lower, i.median_upper, i.p90_lower, i.p90_upper, i.gini_lower, i.gini_upper
      FROM dp.shown_release AS r JOIN dp.release_region AS g ON g.release = r.id
      -- by its key, so that it is not read where nobody asks for it
      LEFT JOIN dp.release_interval AS i ON (i.release, i.n) = (g.release, g.n);
COMMENT ON VIEW dp.release_histograms IS
    'the regions of all stored releases, each with its histogram as one value';
COMMENT ON COLUMN dp.release_histograms.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_histograms.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_histograms.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.release_histograms.level IS 'the level of the hierarchy, 0 for the root';
COMMENT ON COLUMN dp.release_histograms.level_name IS
    'the column of the hierarchy with the names of this level, or all for the root';
COMMENT ON COLUMN dp.release_histograms.region IS
    'the path as text, such as Ohio/Adams, or (all) for the root, with \ before / or \ in a name';
COMMENT ON COLUMN dp.release_histograms.parent IS
    'the region that this one is a part of, as text, NULL for the root';
COMMENT ON COLUMN dp.release_histograms.path IS
    'the names of the region, from the top level down, {} for the root';
COMMENT ON COLUMN dp.release_histograms.is_leaf IS 'whether the level is the lowest one';
COMMENT ON COLUMN dp.release_histograms.groups IS 'how many groups the region has';
COMMENT ON COLUMN dp.release_histograms.entities IS
    'how many entities the groups of the region have in all';
COMMENT ON COLUMN dp.release_histograms.mean_size IS 'entities per group, NULL without groups';
COMMENT ON COLUMN dp.release_histograms.median IS
    'the smallest size that half of the groups do not exceed, NULL without groups';
COMMENT ON COLUMN dp.release_histograms.p90 IS
    'the smallest size that nine groups in ten do not exceed, NULL without groups';
COMMENT ON COLUMN dp.release_histograms.gini IS
    'Gini coefficient of the sizes, 0 if all are equal, NULL without groups';
COMMENT ON COLUMN dp.release_histograms.histogram IS
    'how many groups there are of each size, for dp_quantile and the like';
COMMENT ON COLUMN dp.release_histograms.entities_lower IS
    'where the 90 % error bar of entities begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_histograms.entities_upper IS 'where that bar ends';
COMMENT ON COLUMN dp.release_histograms.mean_size_lower IS
    'where the 90 % error bar of mean_size begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_histograms.mean_size_upper IS 'where that bar ends';
COMMENT ON COLUMN dp.release_histograms.median_lower IS
    'where the 90 % error bar of median begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_histograms.median_upper IS 'where that bar ends';
COMMENT ON COLUMN dp.release_histograms.p90_lower IS
    'where the 90 % error bar of p90 begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_histograms.p90_upper IS 'where that bar ends';
COMMENT ON COLUMN dp.release_histograms.gini_lower IS
    'where the 90 % error bar of gini begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_histograms.gini_upper IS 'where that bar ends';

CREATE VIEW dp.release_regions AS
    SELECT h.dataset, h.release, h.released_at, h.level, h.level_name, h.region, h.parent, h.path,
           h.is_leaf, h.groups, h.entities, h.mean_size, h.median, h.p90, h.gini,
           h.entities_lower, h.entities_upper, h.mean_size_lower, h.mean_size_upper,
           h.median_lower, h.median_upper, h.p90_lower, h.p90_upper, h.gini_lower, h.gini_upper
      FROM dp.release_histograms AS h;
COMMENT ON VIEW dp.release_regions IS
    'the regions of all stored releases, each with the numbers that are asked for most';
COMMENT ON COLUMN dp.release_regions.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_regions.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_regions.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.release_regions.level IS 'the level of the hierarchy, 0 for the root';
COMMENT ON COLUMN dp.release_regions.level_name IS
    'the column of the hierarchy with the names of this level, or all for the root';
COMMENT ON COLUMN dp.release_regions.region IS
    'the path as text, such as Ohio/Adams, or (all) for the root, with \ before / or \ in a name';
COMMENT ON COLUMN dp.release_regions.parent IS
    'the region that this one is a part of, as text, NULL for the root';
COMMENT ON COLUMN dp.release_regions.path IS
    'the names of the region, from the top level down, {} for the root';
COMMENT ON COLUMN dp.release_regions.is_leaf IS 'whether the level is the lowest one';
COMMENT ON COLUMN dp.release_regions.groups IS 'how many groups the region has';
COMMENT ON COLUMN dp.release_regions.entities IS
    'how many entities the groups of the region have in all';
COMMENT ON COLUMN dp.release_regions.mean_size IS 'entities per group, NULL without groups';
COMMENT ON COLUMN dp.release_regions.median IS
    'the smallest size that half of the groups do not exceed, NULL without groups';
COMMENT ON COLUMN dp.release_regions.p90 IS
    'the smallest size that nine groups in ten do not exceed, NULL without groups';
COMMENT ON COLUMN dp.release_regions.gini IS
    'Gini coefficient of the sizes, 0 if all are equal, NULL without groups';
COMMENT ON COLUMN dp.release_regions.entities_lower IS
    'where the 90 % error bar of entities begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_regions.entities_upper IS 'where that bar ends';
COMMENT ON COLUMN dp.release_regions.mean_size_lower IS
    'where the 90 % error bar of mean_size begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_regions.mean_size_upper IS 'where that bar ends';
COMMENT ON COLUMN dp.release_regions.median_lower IS
    'where the 90 % error bar of median begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_regions.median_upper IS 'where that bar ends';
COMMENT ON COLUMN dp.release_regions.p90_lower IS
    'where the 90 % error bar of p90 begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_regions.p90_upper IS 'where that bar ends';
COMMENT ON COLUMN dp.release_regions.gini_lower IS
    'where the 90 % error bar of gini begins, NULL if dp_keep_intervals was not called';
COMMENT ON COLUMN dp.release_regions.gini_upper IS 'where that bar ends';

CREATE VIEW dp.release_sizes AS
    SELECT h.dataset, h.release, h.level, h.region, h.is_leaf, s.size, s.groups,
           -- saturates, as dp_entities
           CASE WHEN s.size <= 9223372036854775807 / s.groups THEN s.size * s.groups
                ELSE 9223372036854775807 END AS entities,
           b.bands[1 + pg_catalog.width_bucket(s.size, b.starts)] AS size_band,
           pg_catalog.width_bucket(s.size, b.starts) AS size_band_order,
           h.released_at, h.level_name, h.path
      FROM dp.release_histograms AS h
     CROSS JOIN LATERAL @extschema@.dp_unnest(h.histogram) AS s
     CROSS JOIN (VALUES (
        '{1,2,5,10,20,50,100,200,500,1000,2000,5000,10000,20000,50000,
          100000,200000,500000,1000000}'::bigint[],
        '{0,1,2-4,5-9,10-19,20-49,50-99,100-199,200-499,500-999,1000-1999,2000-4999,5000-9999,
          10000-19999,20000-49999,50000-99999,100000-199999,200000-499999,500000-999999,
          1000000+}'::text[])) AS b (starts, bands);
COMMENT ON VIEW dp.release_sizes IS
    'the rows of all stored releases, one per region and size, with sizes in bands for charts';
COMMENT ON COLUMN dp.release_sizes.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_sizes.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_sizes.level IS 'the level of the hierarchy, 0 for the root';
COMMENT ON COLUMN dp.release_sizes.region IS
    'the path as text, such as Ohio/Adams, or (all) for the root, with \ before / or \ in a name';
COMMENT ON COLUMN dp.release_sizes.is_leaf IS 'whether the level is the lowest one';
COMMENT ON COLUMN dp.release_sizes.size IS 'how many entities each of these groups has';
COMMENT ON COLUMN dp.release_sizes.groups IS 'how many groups of that size the region has';
COMMENT ON COLUMN dp.release_sizes.entities IS 'how many entities these groups have in all';
COMMENT ON COLUMN dp.release_sizes.size_band IS
    'the band of sizes: 0, 1, 2-4, 5-9, 10-19, 20-49, ..., 1000000+';
COMMENT ON COLUMN dp.release_sizes.size_band_order IS 'the number of the band, to sort by';
COMMENT ON COLUMN dp.release_sizes.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.release_sizes.level_name IS
    'the column of the hierarchy with the names of this level, or all for the root';
COMMENT ON COLUMN dp.release_sizes.path IS
    'the names of the region, from the top level down, {} for the root';

CREATE VIEW dp.range_answer AS
    SELECT s.release, s.grain, s.lower_bound, s.upper_bound, s.sum, s.stddev
      FROM dp.release_sum AS s
    UNION ALL
    SELECT q.release, '1', b.bin::text, (b.bin + 1)::text, b.value, b.stddev
      FROM dp.release_bins AS q CROSS JOIN LATERAL @extschema@.dp_unnest(q.ranges) AS b;
COMMENT ON VIEW dp.range_answer IS
    'behind dp.range_rows, the sums of stored releases, whoever they are for';

-- Noise of a sum is Laplace's, Gaussian, or a sum of both kinds: 1.645 standard deviations hold at
-- least nine of ten, as for the Gaussian.
-- OFFSET 0 keeps the subquery apart, which asks for the sums of one release at a time. Of a join the planner
-- makes a plan that unpacks every release in the database, whoever may read it, to look for the one asked for.
CREATE VIEW dp.range_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, s.grain, s.lower_bound, s.upper_bound, s.sum, s.stddev,
           s.sum - 1.6448536269514722 * s.stddev AS low,
           s.sum + 1.6448536269514722 * s.stddev AS high
      FROM dp.shown_release AS r
     CROSS JOIN LATERAL (
        SELECT * FROM dp.range_answer AS a WHERE a.release = r.id OFFSET 0) AS s;
COMMENT ON VIEW dp.range_rows IS
    'the sums of all stored releases of ranges, and the bins of those that answer any range';
COMMENT ON COLUMN dp.range_rows.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.range_rows.release IS 'the name of the release';
COMMENT ON COLUMN dp.range_rows.grain IS
    'how long the range is: hour, day, month or the like, open without an end, else its length';
COMMENT ON COLUMN dp.range_rows.lower_bound IS
    'where the range begins: a number, or a time in ISO 8601 with times with a zone in UTC';
COMMENT ON COLUMN dp.range_rows.upper_bound IS 'where it ends, which is not a part of it any more';
COMMENT ON COLUMN dp.range_rows.sum IS
    'how many rows there are in the range, or the sum of their amounts';
COMMENT ON COLUMN dp.range_rows.stddev IS 'the standard deviation of its noise, exact';
COMMENT ON COLUMN dp.range_rows.low IS 'the lower end of a band that holds the truth in 90 % of cases';
COMMENT ON COLUMN dp.range_rows.high IS 'the upper end of that band';

CREATE VIEW dp.rectangle_answer AS
    SELECT s.release, s.row_lower, s.row_upper, s.column_lower, s.column_upper, s.sum, s.stddev
      FROM dp.release_rectangle AS s
    UNION ALL
    SELECT q.release, c.row_bin, c.row_bin + 1, c.column_bin, c.column_bin + 1, c.value, c.stddev
      FROM dp.release_grid AS q CROSS JOIN LATERAL @extschema@.dp_unnest(q.grid) AS c;
COMMENT ON VIEW dp.rectangle_answer IS
    'behind dp.rectangle_rows, the sums of stored releases, whoever they are for';

CREATE VIEW dp.rectangle_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, s.row_lower, s.row_upper, s.column_lower, s.column_upper, s.sum,
           s.stddev, s.sum - 1.6448536269514722 * s.stddev AS low,
           s.sum + 1.6448536269514722 * s.stddev AS high
      FROM dp.shown_release AS r
     CROSS JOIN LATERAL (
        SELECT * FROM dp.rectangle_answer AS a WHERE a.release = r.id OFFSET 0) AS s;
COMMENT ON VIEW dp.rectangle_rows IS
    'the sums of all stored releases of rectangles, and the cells of those that answer any rectangle';
COMMENT ON COLUMN dp.rectangle_rows.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.rectangle_rows.release IS 'the name of the release';
COMMENT ON COLUMN dp.rectangle_rows.row_lower IS
    'the least number of the first column, NULL without a limit';
COMMENT ON COLUMN dp.rectangle_rows.row_upper IS
    'where its numbers end, not included, NULL without a limit';
COMMENT ON COLUMN dp.rectangle_rows.column_lower IS
    'the least number of the second column, NULL without a limit';
COMMENT ON COLUMN dp.rectangle_rows.column_upper IS
    'where its numbers end, not included, NULL without a limit';
COMMENT ON COLUMN dp.rectangle_rows.sum IS 'how many rows there are in the rectangle';
COMMENT ON COLUMN dp.rectangle_rows.stddev IS 'the standard deviation of its noise, exact';
COMMENT ON COLUMN dp.rectangle_rows.low IS
    'the lower end of a band that holds the truth in 90 % of cases';
COMMENT ON COLUMN dp.rectangle_rows.high IS 'the upper end of that band';

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

CREATE VIEW dp.region_range_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, pg_catalog.cardinality(s.path) AS level,
           coalesce(r.hierarchy[pg_catalog.cardinality(s.path)], 'all') AS level_name,
           s.region, s.path, s.grain, s.lower_bound, s.upper_bound, s.sum, s.stddev,
           s.sum - 1.6448536269514722 * s.stddev AS low,
           s.sum + 1.6448536269514722 * s.stddev AS high
      FROM dp.shown_release AS r
     CROSS JOIN LATERAL (
        SELECT * FROM dp.region_range_answer AS a WHERE a.release = r.id OFFSET 0) AS s;
COMMENT ON VIEW dp.region_range_rows IS
    'the sums of all stored releases of ranges by region, and the bins of those that answer any range';
COMMENT ON COLUMN dp.region_range_rows.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.region_range_rows.release IS 'the name of the release';
COMMENT ON COLUMN dp.region_range_rows.level IS 'the level of the hierarchy, 0 for the root';
COMMENT ON COLUMN dp.region_range_rows.level_name IS
    'the column of the hierarchy with the names of this level, or all for the root';
COMMENT ON COLUMN dp.region_range_rows.region IS
    'the path as text, such as Ohio/Adams, or (all) for the root, with \ before / or \ in a name';
COMMENT ON COLUMN dp.region_range_rows.path IS
    'the names of the region, from the top level down, {} for the root';
COMMENT ON COLUMN dp.region_range_rows.grain IS
    'how long the range is: hour, day, month or the like, open without an end, else its length';
COMMENT ON COLUMN dp.region_range_rows.lower_bound IS
    'where the range begins: a number, or a time in ISO 8601 with times with a zone in UTC';
COMMENT ON COLUMN dp.region_range_rows.upper_bound IS
    'where it ends, which is not a part of it any more';
COMMENT ON COLUMN dp.region_range_rows.sum IS 'how many rows of the region there are in the range';
COMMENT ON COLUMN dp.region_range_rows.stddev IS 'the standard deviation of its noise, exact';
COMMENT ON COLUMN dp.region_range_rows.low IS
    'the lower end of a band that holds the truth in 90 % of cases';
COMMENT ON COLUMN dp.region_range_rows.high IS 'the upper end of that band';

CREATE VIEW dp.release_ranges WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, q.ranges
      FROM dp.shown_release AS r JOIN dp.release_bins AS q ON q.release = r.id;
COMMENT ON VIEW dp.release_ranges IS
    'the stored releases that answer any range, each as one value for dp_range_sums';
COMMENT ON COLUMN dp.release_ranges.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_ranges.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_ranges.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.release_ranges.ranges IS 'what dp_range_release gave';

CREATE VIEW dp.release_grids WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, q.grid
      FROM dp.shown_release AS r JOIN dp.release_grid AS q ON q.release = r.id;
COMMENT ON VIEW dp.release_grids IS
    'the stored releases that answer any rectangle, each as one value for dp_rectangle_sums';
COMMENT ON COLUMN dp.release_grids.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_grids.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_grids.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.release_grids.grid IS 'what dp_grid_release gave';

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

CREATE VIEW dp.found_regions WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, f.region, f.path
      FROM dp.shown_release AS r JOIN dp.release_found_region AS f ON f.release = r.id;
COMMENT ON VIEW dp.found_regions IS 'the regions that stored dp_find_regions have found';
COMMENT ON COLUMN dp.found_regions.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.found_regions.release IS 'the name of the release';
COMMENT ON COLUMN dp.found_regions.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.found_regions.region IS
    'the path as text, such as Ohio/Adams, with \ before / or \ in a name';
COMMENT ON COLUMN dp.found_regions.path IS 'the names of the region, from the top level down';

CREATE VIEW dp.found_bounds WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, q.parameters ->> 'bound' AS bound,
           q.parameters ->> 'amount' AS amount, b.candidate, b.above, b.clipping, b.noise, b.chosen,
           c.parameters -> 'kept' = 'true' AS kept, q.seen
      FROM dp.shown_release AS r
      JOIN dp.release_bound AS b ON b.release = r.id
      JOIN dp.release AS q ON q.id = r.id
      JOIN dp.charge AS c ON c.id = q.charge;
COMMENT ON VIEW dp.found_bounds IS 'the candidates that stored dp_find_bound have chosen from';
COMMENT ON COLUMN dp.found_bounds.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.found_bounds.release IS 'the name of the release';
COMMENT ON COLUMN dp.found_bounds.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.found_bounds.bound IS 'the argument that it is for';
COMMENT ON COLUMN dp.found_bounds.amount IS 'the column of amounts, NULL where it is not for those';
COMMENT ON COLUMN dp.found_bounds.candidate IS 'a bound that could be chosen';
COMMENT ON COLUMN dp.found_bounds.above IS 'how many units, rows or entities are beyond it, by noisy counts';
COMMENT ON COLUMN dp.found_bounds.clipping IS 'how much it leaves out, by noisy counts';
COMMENT ON COLUMN dp.found_bounds.noise IS 'by how much a release is off by its noise';
COMMENT ON COLUMN dp.found_bounds.chosen IS 'whether it was chosen: its error is never far from the best one''s';
COMMENT ON COLUMN dp.found_bounds.kept IS 'whether the owner was charged for it, so that auto meant it from then on';
COMMENT ON COLUMN dp.found_bounds.seen IS 'whether any count stood out of the noise';

GRANT SELECT ON
    dp.release_histograms, dp.release_regions, dp.release_sizes, dp.range_rows, dp.release_ranges,
    dp.rectangle_rows, dp.release_grids, dp.region_range_rows, dp.release_region_ranges,
    dp.found_regions, dp.found_bounds
    TO PUBLIC;

-- With the rights of the caller, who owns the view, under a search_path where nothing is theirs.
CREATE FUNCTION dp.create_view(dataset text, view_name text, release text, schema_name text)
    RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    own text[] := '{release,released_at,level,level_name,is_leaf,region,size,groups,
                    entities,size_band,size_band_order}';
    target text[];
    hierarchy text[];
    taken text[];
    level_columns text := '';
    level_column text;
    places integer[];
    alike boolean;
    function text;
    value_type text;
    by_region boolean;
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
    IF EXISTS (SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                WHERE (n.nspname, c.relname) = (target[1]::name, target[2]::name)) THEN
        RAISE 'view_name: relation "%" exists already', view_name
            USING ERRCODE = 'duplicate_table',
                  HINT = 'Give another view_name, or drop it first.';
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
        IF function IS NULL AND EXISTS (SELECT FROM dp.releases AS r
                                         WHERE (r.dataset, r.name) = ($1, $3)) THEN
            RAISE 'release "%" of dataset "%" was retracted', release, dataset
                USING ERRCODE = 'undefined_object',
                      HINT = 'Nobody sees its numbers; dp.releases shows since when. The'
                             ' dataset''s owner can publish it again with dp_set_status.';
        ELSIF function IS NULL THEN
            RAISE 'release "%" of dataset "%" does not exist', release, dataset
                USING ERRCODE = 'undefined_object',
                      HINT = 'The view dp.releases lists the stored releases.';
        ELSIF function IN ('dp_rectangle_sums', 'dp_grid_release') THEN
            RAISE 'release "%" of dataset "%" has rectangles, which have no such view',
                  release, dataset
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = CASE function WHEN 'dp_grid_release'
                          THEN 'The view dp.release_grids shows it, dp.rectangle_rows its cells.'
                          ELSE 'The view dp.rectangle_rows shows them.' END;
        ELSIF function = 'dp_find_regions' THEN
            RAISE 'release "%" of dataset "%" is of regions that were found, which have no such view',
                  release, dataset
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = 'The view dp.found_regions shows them.';
        ELSIF function = 'dp_find_bound' THEN
            RAISE 'release "%" of dataset "%" is of a bound that was chosen, which has no such view',
                  release, dataset
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = 'The view dp.found_bounds shows it.';
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
    by_region := coalesce(function LIKE 'dp_region_range_%', false);
    IF by_region THEN
        own := '{release,released_at,level,level_name,region,path,grain,lower_bound,upper_bound,
                 sum,stddev,low,high}';
    END IF;

    -- Another dataset may have had the name, with other levels, or the same ones in other places.
    SELECT coalesce(array_agg(l.level_name ORDER BY l.lowest, l.level_name), '{}'),
           coalesce(array_agg(l.lowest ORDER BY l.lowest, l.level_name), '{}'),
           coalesce(bool_and(l.lowest = l.highest) AND count(DISTINCT l.lowest) = count(*), true)
      INTO hierarchy, places, alike
      FROM (SELECT r.level_name, min(r.level) AS highest, max(r.level) AS lowest
              FROM (SELECT a.release, a.level_name, a.level FROM dp.release_regions AS a
                     WHERE a.dataset = $1 AND NOT by_region
                    UNION ALL
                    SELECT a.release, a.level_name, a.level FROM dp.region_range_rows AS a
                     WHERE (a.dataset, a.release) = ($1, $3) AND function = 'dp_region_range_sums'
                    UNION ALL
                    SELECT a.release, a.level_name, a.level FROM dp.release_region_ranges AS a
                     WHERE (a.dataset, a.release) = ($1, $3)
                       AND function = 'dp_region_range_release') AS r
             WHERE (r.release = $3 OR $3 IS NULL) AND r.level > 0
             GROUP BY r.level_name) AS l;
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
        level_columns := level_columns || format(
            CASE WHEN alike THEN 's.path[%s] AS %I, '
                 ELSE 's.path[(h.levels ->> %3$L)::integer] AS %2$I, ' END,
            places[level], level_column, hierarchy[level]);
    END LOOP;

    IF value_type IS NOT NULL THEN
        EXECUTE format(
            'CREATE VIEW %1$I.%2$I AS
             SELECT s.release, n.released_at, %5$s s.grain, s.lower_bound::%3$s,
                    s.upper_bound::%3$s, s.sum, s.stddev, s.low, s.high
               FROM dp.%6$I AS s
               JOIN dp.releases AS n ON (n.dataset, n.name) = (s.dataset, s.release)
              WHERE s.dataset = %4$L AND %7$s',
            target[1], target[2], value_type::regtype, dataset,
            CASE WHEN by_region THEN 's.level, s.level_name, ' || level_columns
                                     || 's.region, s.path, ' END,
            CASE WHEN by_region THEN 'region_range_rows' ELSE 'range_rows' END,
            CASE WHEN release IS NULL THEN format('n.parameters ->> ''value_type'' = %L', value_type)
                 ELSE format('s.release = %L', release) END);
        RETURN;
    END IF;

    EXECUTE format(
        'CREATE VIEW %I.%I AS
         SELECT s.release, s.released_at, s.level, s.level_name, %s s.is_leaf, s.region, s.size,
                s.groups, s.entities, s.size_band, s.size_band_order
           FROM dp.release_sizes AS s %s WHERE s.dataset = %L %s',
        target[1], target[2], level_columns,
        CASE WHEN NOT alike THEN format(
            'LEFT JOIN (SELECT l.release, jsonb_object_agg(l.level_name, l.level) AS levels
                          FROM (SELECT DISTINCT r.release, r.level_name, r.level
                                  FROM dp.release_regions AS r
                                 WHERE r.dataset = %L AND r.level > 0) AS l
                         GROUP BY l.release) AS h ON h.release = s.release', dataset) END,
        dataset, CASE WHEN release IS NOT NULL THEN format('AND s.release = %L', release) END);
END $$;
COMMENT ON FUNCTION dp.create_view(text, text, text, text) IS
    'inside of dp_create_view: schema_name is where a view_name without a schema goes';

-- Its body was read when it was made: no search_path of the caller's changes what it means.
CREATE PROCEDURE @extschema@.dp_create_view(
        dataset text, view_name text, release text DEFAULT NULL)
    LANGUAGE sql
BEGIN ATOMIC
    SELECT dp.create_view(dataset, view_name, release, pg_catalog.current_schema());
END;
COMMENT ON PROCEDURE @extschema@.dp_create_view(text, text, text) IS
    'makes a view of a dataset''s releases with a column for each level of its hierarchy';
