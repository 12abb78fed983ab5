-- Releases of one histogram ---------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_coco_histogram(
        h @extschema@.coco, epsilon float8, max_size bigint DEFAULT 10000,
        method text DEFAULT 'auto', dataset text DEFAULT NULL, name text DEFAULT NULL,
        within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS @extschema@.dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram(
        @extschema@.coco, float8, bigint, text, text, text, text[], text) IS
    'releases a histogram with epsilon-differential privacy for one entity more or less';

CREATE FUNCTION @extschema@.dp_coco_histogram_add(internal, size bigint, epsilon float8)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_add_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram_add(internal, bigint, float8) IS
    'inside of the aggregate dp_coco_histogram';
CREATE FUNCTION @extschema@.dp_coco_histogram_add(
        internal, size bigint, epsilon float8, max_size bigint)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_add_capped_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram_add(internal, bigint, float8, bigint) IS
    'inside of the aggregate dp_coco_histogram';
CREATE FUNCTION @extschema@.dp_coco_histogram_add(
        internal, size bigint, epsilon float8, max_size bigint, method text)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_add_by_method_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram_add(internal, bigint, float8, bigint, text) IS
    'inside of the aggregate dp_coco_histogram';
CREATE FUNCTION @extschema@.dp_coco_histogram_final(internal) RETURNS @extschema@.dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_final_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram_final(internal) IS
    'inside of the aggregate dp_coco_histogram';

-- READ_WRITE: the final function, which draws the noise, runs once per state; no window function
CREATE AGGREGATE @extschema@.dp_coco_histogram(size bigint, epsilon float8) (
    SFUNC = @extschema@.dp_coco_histogram_add, STYPE = internal,
    FINALFUNC = @extschema@.dp_coco_histogram_final, FINALFUNC_MODIFY = READ_WRITE,
    PARALLEL = UNSAFE
);
COMMENT ON AGGREGATE @extschema@.dp_coco_histogram(bigint, float8) IS
    'releases the histogram of group sizes, one input row per group, in one step';
CREATE AGGREGATE @extschema@.dp_coco_histogram(size bigint, epsilon float8, max_size bigint) (
    SFUNC = @extschema@.dp_coco_histogram_add, STYPE = internal,
    FINALFUNC = @extschema@.dp_coco_histogram_final, FINALFUNC_MODIFY = READ_WRITE,
    PARALLEL = UNSAFE
);
COMMENT ON AGGREGATE @extschema@.dp_coco_histogram(bigint, float8, bigint) IS
    'releases the histogram of group sizes, of which larger ones count at max_size, in one step';
CREATE AGGREGATE @extschema@.dp_coco_histogram(
    size bigint, epsilon float8, max_size bigint, method text) (
    SFUNC = @extschema@.dp_coco_histogram_add, STYPE = internal,
    FINALFUNC = @extschema@.dp_coco_histogram_final, FINALFUNC_MODIFY = READ_WRITE,
    PARALLEL = UNSAFE
);
COMMENT ON AGGREGATE @extschema@.dp_coco_histogram(bigint, float8, bigint, text) IS
    'releases the histogram of group sizes by the named method in one step';

-- CREATE AGGREGATE always writes "immutable". Volatile is the truth, and it is what keeps
-- postgres_fdw from sending the noise to another server and the planner from merging two calls.
UPDATE pg_catalog.pg_proc SET provolatile = 'v'
 WHERE oid = ANY (ARRAY['@extschema@.dp_coco_histogram(bigint, float8)',
                        '@extschema@.dp_coco_histogram(bigint, float8, bigint)',
                        '@extschema@.dp_coco_histogram(bigint, float8, bigint, text)'
                       ]::pg_catalog.regprocedure[]);


-- What a released histogram says: free post-processing ------------------------------------------

CREATE FUNCTION @extschema@.dp_unnest(h @extschema@.dp_coco)
    RETURNS TABLE (size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_unnest_coco_wrapper'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION @extschema@.dp_unnest(@extschema@.dp_coco) IS
    'the histogram as rows, sizes ascending, none with 0 groups';
CREATE FUNCTION @extschema@.dp_groups(h @extschema@.dp_coco) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_groups_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_groups(@extschema@.dp_coco) IS 'the number of groups';
CREATE FUNCTION @extschema@.dp_entities(h @extschema@.dp_coco) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_entities_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_entities(@extschema@.dp_coco) IS
    'the number of entities in all groups';
CREATE FUNCTION @extschema@.dp_quantile(h @extschema@.dp_coco, q float8) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_quantile_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_quantile(@extschema@.dp_coco, float8) IS
    'the smallest size that a share q of the groups does not exceed, NULL without groups';
CREATE FUNCTION @extschema@.dp_mean_size(h @extschema@.dp_coco) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_mean_size_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_mean_size(@extschema@.dp_coco) IS
    'entities per group, NULL without groups';
CREATE FUNCTION @extschema@.dp_gini(h @extschema@.dp_coco) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_gini_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_gini(@extschema@.dp_coco) IS
    'Gini coefficient of the group sizes, 0 if all are equal, NULL without groups';
CREATE FUNCTION @extschema@.dp_emd(released @extschema@.dp_coco, exact @extschema@.coco)
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_emd_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_emd(@extschema@.dp_coco, @extschema@.coco) IS
    'how many entities a release is off by, which is CONFIDENTIAL as the exact data are';

CREATE FUNCTION @extschema@.dp_histogram_intervals(
        h @extschema@.dp_coco, epsilon float8, max_size bigint DEFAULT 10000,
        method text DEFAULT 'auto', confidence float8 DEFAULT 0.9,
        simultaneous boolean DEFAULT false)
    RETURNS TABLE (statistic text, size bigint, value float8, lower float8, upper float8)
    AS 'MODULE_PATHNAME', 'dp_histogram_intervals_wrapper'
    LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_histogram_intervals(
        @extschema@.dp_coco, float8, bigint, text, float8, boolean)
    IS 'the error bars of a released histogram, from the arguments that it was released with';


