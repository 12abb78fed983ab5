-- Range sums by region -------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges int8range[], epsilon float8,
        delta float8 DEFAULT 0, bounds int8range DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_numbers_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, int8range[], float8, float8, int8range, text, float8[], text,
        text, @extschema@.dp_amount, numeric, numeric, text[], text)
    IS 'releases how many rows of each region lie in ranges of integers, or sums of amounts';

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges daterange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds daterange DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range daterange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_dates_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, daterange[], interval, float8, float8, daterange, text, float8[], text,
        text, @extschema@.dp_amount, numeric, numeric, text[], text)
    IS 'releases how many rows of each region lie in ranges of dates, or sums of amounts';

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges tsrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tsrange DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range tsrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_timestamps_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, tsrange[], interval, float8, float8, tsrange, text, float8[], text,
        text, @extschema@.dp_amount, numeric, numeric, text[], text)
    IS 'releases how many rows of each region lie in ranges of timestamps, or sums of amounts';

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges tstzrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tstzrange DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range tstzrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_timestamptzs_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, tstzrange[], interval, float8, float8, tstzrange, text, float8[], text,
        text, @extschema@.dp_amount, numeric, numeric, text[], text)
    IS 'releases how many rows of regions lie in ranges of timestamps with time zone, or sums of amounts';

CREATE FUNCTION @extschema@.dp_region_range_release(
        dataset text, bins_column text, bounds int8range, epsilon float8, delta float8 DEFAULT 0,
        method text DEFAULT 'auto', budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        max_amount bigint DEFAULT 1, within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], ranges @extschema@.dp_ranges)
    AS 'MODULE_PATHNAME', 'dp_region_range_release_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_release(
        text, text, int8range, float8, float8, text, float8[], text, bigint, text[], text)
    IS 'releases counts of bins of each region, which were counted elsewhere';

CREATE FUNCTION @extschema@.dp_explain_region_ranges(
        dataset text, bins bigint, epsilon float8, delta float8 DEFAULT 0,
        method text DEFAULT 'auto', budget_shares float8[] DEFAULT NULL,
        workload text DEFAULT 'all')
    RETURNS TABLE (level int, level_name text, regions bigint, share float8, method text,
                   mean_variance float8, max_variance float8)
    AS 'MODULE_PATHNAME', 'dp_explain_region_ranges_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_explain_region_ranges(
        text, bigint, float8, float8, text, float8[], text)
    IS 'the exact variance of the answers of each level''s regions, before anything is spent';
