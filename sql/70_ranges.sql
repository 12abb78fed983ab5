-- Range sums ------------------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_range_release(
        b @extschema@.bins, epsilon float8, delta float8 DEFAULT 0, method text DEFAULT 'auto',
        dataset text DEFAULT NULL, name text DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS @extschema@.dp_ranges
    AS 'MODULE_PATHNAME', 'dp_range_release_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_release(
        @extschema@.bins, float8, float8, text, text, text, text[], text) IS
    'releases counts of bins with (epsilon, delta)-differential privacy for one row more or less';

CREATE FUNCTION @extschema@.dp_range_sum(r @extschema@.dp_ranges, range int8range) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_range_sum_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_range_sum(@extschema@.dp_ranges, int8range) IS
    'how many rows lie in a range, estimated from a release';
CREATE FUNCTION @extschema@.dp_range_sums(
        r @extschema@.dp_ranges, ranges int8range[], estimate text DEFAULT 'unbiased')
    RETURNS TABLE (range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION @extschema@.dp_range_sums(@extschema@.dp_ranges, int8range[], text) IS
    'how many rows lie in each of the ranges, estimated from a release';
CREATE FUNCTION @extschema@.dp_unnest(
        r @extschema@.dp_ranges, estimate text DEFAULT 'unbiased')
    RETURNS TABLE (bin bigint, value float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_unnest_ranges_wrapper'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1000;
COMMENT ON FUNCTION @extschema@.dp_unnest(@extschema@.dp_ranges, text) IS
    'every bin with the estimate of its count and the standard deviation of the noise';

CREATE FUNCTION @extschema@.dp_quantiles(r @extschema@.dp_ranges, quantiles float8[])
    RETURNS TABLE (quantile float8, value float8, lower float8, upper float8)
    AS 'MODULE_PATHNAME', 'dp_quantiles_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.dp_quantiles(@extschema@.dp_ranges, float8[]) IS
    'quantiles of a release of bins, each with an interval that holds it in 90 % of cases';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges int8range[], epsilon float8, delta float8 DEFAULT 0,
        bounds int8range DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased', within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_numbers_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, int8range[], float8, float8, int8range, text, text, text,
        @extschema@.dp_amount, numeric, numeric, text, text[], text)
    IS 'releases how many rows of a dataset lie in ranges of integers, or sums of amounts';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges daterange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds daterange DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased', within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (range daterange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_dates_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, daterange[], interval, float8, float8, daterange, text, text, text,
        @extschema@.dp_amount, numeric, numeric, text, text[], text)
    IS 'releases how many rows of a dataset lie in ranges of dates, or sums of amounts';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges tsrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tsrange DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased', within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (range tsrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_timestamps_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, tsrange[], interval, float8, float8, tsrange, text, text, text,
        @extschema@.dp_amount, numeric, numeric, text, text[], text)
    IS 'releases how many rows of a dataset lie in ranges of timestamps, or sums of amounts';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges tstzrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tstzrange DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased', within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (range tstzrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_timestamptzs_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, tstzrange[], interval, float8, float8, tstzrange, text, text, text,
        @extschema@.dp_amount, numeric, numeric, text, text[], text)
    IS 'releases how many rows of a dataset lie in ranges of timestamps with time zone, or sums of amounts';

CREATE FUNCTION @extschema@.dp_explain_ranges(
        bins bigint, epsilon float8, delta float8 DEFAULT 0, workload text DEFAULT 'all',
        methods text[] DEFAULT NULL, branching int DEFAULT NULL)
    RETURNS TABLE (method text, branching int, mean_variance float8, max_variance float8,
                   svd_ratio float8, chosen boolean)
    AS 'MODULE_PATHNAME', 'dp_explain_ranges_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.dp_explain_ranges(bigint, float8, float8, text, text[], int) IS
    'the exact variance of the answers of each method over a workload';


