-- Exact aggregates ------------------------------------------------------------------------------

CREATE FUNCTION @extschema@.coco_add(@extschema@.coco, size bigint) RETURNS @extschema@.coco
    AS 'MODULE_PATHNAME', 'coco_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.coco_add(@extschema@.coco, bigint) IS
    'adds one group to a histogram';
CREATE FUNCTION @extschema@.coco_merge(@extschema@.coco, @extschema@.coco) RETURNS @extschema@.coco
    AS 'MODULE_PATHNAME', 'coco_merge_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.coco_merge(@extschema@.coco, @extschema@.coco) IS
    'adds one histogram to another';

CREATE AGGREGATE @extschema@.coco_agg(size bigint) (
    SFUNC = @extschema@.coco_add, STYPE = @extschema@.coco, INITCOND = '{}',
    COMBINEFUNC = @extschema@.coco_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.coco_agg(bigint) IS
    'exact histogram of group sizes, one input row per group';
CREATE AGGREGATE @extschema@.coco_agg(h @extschema@.coco) (
    SFUNC = @extschema@.coco_merge, STYPE = @extschema@.coco, INITCOND = '{}',
    COMBINEFUNC = @extschema@.coco_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.coco_agg(@extschema@.coco) IS
    'exact histogram of all the groups of several histograms';

CREATE FUNCTION @extschema@.bins_add(@extschema@.bins, bin bigint, lo bigint, hi bigint)
    RETURNS @extschema@.bins
    AS 'MODULE_PATHNAME', 'bins_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.bins_add(@extschema@.bins, bigint, bigint, bigint) IS
    'counts one row in its bin';
CREATE FUNCTION @extschema@.bins_merge(@extschema@.bins, @extschema@.bins) RETURNS @extschema@.bins
    AS 'MODULE_PATHNAME', 'bins_merge_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.bins_merge(@extschema@.bins, @extschema@.bins) IS
    'adds counts to others with the same bounds';

CREATE AGGREGATE @extschema@.bins_agg(bin bigint, lo bigint, hi bigint) (
    SFUNC = @extschema@.bins_add, STYPE = @extschema@.bins,
    COMBINEFUNC = @extschema@.bins_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.bins_agg(bigint, bigint, bigint) IS
    'exact counts of the bins lo to hi - 1, one input row each';
CREATE FUNCTION @extschema@.bins_add_amount(
        @extschema@.bins, bin bigint, lo bigint, hi bigint, amount bigint, max_amount bigint)
    RETURNS @extschema@.bins
    AS 'MODULE_PATHNAME', 'bins_add_amount_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.bins_add_amount(
        @extschema@.bins, bigint, bigint, bigint, bigint, bigint) IS
    'adds the amount of one row to its bin';
CREATE AGGREGATE @extschema@.bins_agg(
        bin bigint, lo bigint, hi bigint, amount bigint, max_amount bigint) (
    SFUNC = @extschema@.bins_add_amount, STYPE = @extschema@.bins,
    COMBINEFUNC = @extschema@.bins_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.bins_agg(bigint, bigint, bigint, bigint, bigint) IS
    'exact sums of amounts from 0 to max_amount in the bins lo to hi - 1, one input row each';
CREATE AGGREGATE @extschema@.bins_agg(b @extschema@.bins) (
    SFUNC = @extschema@.bins_merge, STYPE = @extschema@.bins,
    COMBINEFUNC = @extschema@.bins_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.bins_agg(@extschema@.bins) IS
    'exact counts of several values of type bins with the same bounds and largest amount';

CREATE FUNCTION @extschema@.grid_add(
        @extschema@.grid, row_bin bigint, column_bin bigint, row_bounds int8range,
        column_bounds int8range)
    RETURNS @extschema@.grid
    AS 'MODULE_PATHNAME', 'grid_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.grid_add(
        @extschema@.grid, bigint, bigint, int8range, int8range) IS
    'counts one row in its cell';
CREATE FUNCTION @extschema@.grid_merge(@extschema@.grid, @extschema@.grid) RETURNS @extschema@.grid
    AS 'MODULE_PATHNAME', 'grid_merge_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.grid_merge(@extschema@.grid, @extschema@.grid) IS
    'adds counts to others with the same bounds';

CREATE AGGREGATE @extschema@.grid_agg(
        row_bin bigint, column_bin bigint, row_bounds int8range, column_bounds int8range) (
    SFUNC = @extschema@.grid_add, STYPE = @extschema@.grid,
    COMBINEFUNC = @extschema@.grid_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.grid_agg(bigint, bigint, int8range, int8range) IS
    'exact counts of the cells of a grid of bins, one input row each';
CREATE AGGREGATE @extschema@.grid_agg(g @extschema@.grid) (
    SFUNC = @extschema@.grid_merge, STYPE = @extschema@.grid,
    COMBINEFUNC = @extschema@.grid_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.grid_agg(@extschema@.grid) IS
    'exact counts of several values of type grid with the same bounds';

