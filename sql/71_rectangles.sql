
-- Sums over rectangles ----------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_rectangle_sums(
        dataset text, row_column text, column_column text, row_ranges int8range[],
        column_ranges int8range[], epsilon float8, delta float8 DEFAULT 0,
        row_bounds int8range DEFAULT NULL, column_bounds int8range DEFAULT NULL,
        method text DEFAULT 'auto', name text DEFAULT NULL, amount text DEFAULT NULL,
        max_amount @extschema@.dp_amount DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (row_range int8range, column_range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_rectangle_sums_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_rectangle_sums(
        text, text, text, int8range[], int8range[], float8, float8, int8range, int8range, text, text,
        text, @extschema@.dp_amount, numeric, numeric, text[], text)
    IS 'releases how many rows lie in rectangles of two columns of integers, or sums of amounts';

CREATE FUNCTION @extschema@.dp_explain_rectangles(
        rows bigint, columns bigint, epsilon float8, delta float8 DEFAULT 0,
        methods text[] DEFAULT NULL)
    RETURNS TABLE (method text, branching int, mean_variance float8, max_variance float8,
                   svd_ratio float8, chosen boolean)
    AS 'MODULE_PATHNAME', 'dp_explain_rectangles_wrapper'
    LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.dp_explain_rectangles(bigint, bigint, float8, float8, text[]) IS
    'the exact variance of the answers of each method over all rectangles of a grid';

CREATE FUNCTION @extschema@.dp_grid_release(
        g @extschema@.grid, epsilon float8, delta float8 DEFAULT 0, method text DEFAULT 'auto',
        dataset text DEFAULT NULL, name text DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS @extschema@.dp_grid
    AS 'MODULE_PATHNAME', 'dp_grid_release_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_grid_release(
        @extschema@.grid, float8, float8, text, text, text, text[], text) IS
    'releases counts of cells with (epsilon, delta)-differential privacy for one row more or less';

CREATE FUNCTION @extschema@.dp_rectangle_sum(
        g @extschema@.dp_grid, row_range int8range, column_range int8range)
    RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_rectangle_sum_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_rectangle_sum(@extschema@.dp_grid, int8range, int8range) IS
    'how many rows lie in a rectangle, estimated from a release';
CREATE FUNCTION @extschema@.dp_rectangle_sums(
        g @extschema@.dp_grid, row_ranges int8range[], column_ranges int8range[])
    RETURNS TABLE (row_range int8range, column_range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_rectangle_sums_of_grid_wrapper'
    LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION @extschema@.dp_rectangle_sums(
        @extschema@.dp_grid, int8range[], int8range[]) IS
    'how many rows lie in each of the rectangles, estimated from a release';
CREATE FUNCTION @extschema@.dp_unnest(g @extschema@.dp_grid)
    RETURNS TABLE (row_bin bigint, column_bin bigint, value float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_unnest_grid_wrapper'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1000;
COMMENT ON FUNCTION @extschema@.dp_unnest(@extschema@.dp_grid) IS
    'every cell with the estimate of its count and the standard deviation of the noise';

