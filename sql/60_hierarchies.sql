-- Releases of a hierarchy -----------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_hierarchy_release(
        dataset text, epsilon float8, estimators text[] DEFAULT '{auto}',
        consistency text DEFAULT 'matching', max_size @extschema@.dp_bound DEFAULT 10000,
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        keep_measurements boolean DEFAULT false, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_hierarchy_release_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_hierarchy_release(
        text, float8, text[], text, @extschema@.dp_bound, float8[], text, boolean, text[], text)
    IS 'releases the histogram of every region of a hierarchy with epsilon-differential privacy';

CREATE FUNCTION dp.leaf_histograms_add(internal, max_size bigint, VARIADIC "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'leaf_histograms_add' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp.leaf_histograms_add(internal, bigint, "any") IS
    'inside of the aggregate dp.leaf_histograms';
CREATE FUNCTION dp.leaf_histograms_merge(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'leaf_histograms_merge_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp.leaf_histograms_merge(internal, internal) IS
    'inside of the aggregate dp.leaf_histograms';
CREATE FUNCTION dp.leaf_histograms_write(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'leaf_histograms_write_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp.leaf_histograms_write(internal) IS
    'inside of the aggregate dp.leaf_histograms';
CREATE FUNCTION dp.leaf_histograms_read(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'leaf_histograms_read_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp.leaf_histograms_read(bytea, internal) IS
    'inside of the aggregate dp.leaf_histograms';

-- In schema dp, where nobody can put another one that fits the columns of a table better.
CREATE AGGREGATE dp.leaf_histograms(max_size bigint, VARIADIC "any") (
    SFUNC = dp.leaf_histograms_add, STYPE = internal, COMBINEFUNC = dp.leaf_histograms_merge,
    SERIALFUNC = dp.leaf_histograms_write, DESERIALFUNC = dp.leaf_histograms_read,
    FINALFUNC = dp.leaf_histograms_write, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp.leaf_histograms(bigint, "any") IS
    'inside of dp_hierarchy_release: the exact, CONFIDENTIAL histogram of each lowest region';
-- CREATE AGGREGATE always writes "immutable", but what a region prints as can depend on settings
UPDATE pg_catalog.pg_proc SET provolatile = 's'
 WHERE oid = 'dp.leaf_histograms(bigint, "any")'::pg_catalog.regprocedure;

CREATE FUNCTION dp.region_name(anyelement) RETURNS text
    AS 'MODULE_PATHNAME', 'region_name_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp.region_name(anyelement) IS
    'inside of dp_hierarchy_release: what a value prints as, NULL if that is too long';

CREATE FUNCTION dp.is_short(anyelement) RETURNS boolean
    AS 'MODULE_PATHNAME', 'is_short_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp.is_short(anyelement) IS
    'inside of dp_hierarchy_release: whether a value can be compared without an error';

CREATE FUNCTION @extschema@.dp_explain_hierarchy(
        dataset text, epsilon float8, estimators text[] DEFAULT NULL,
        consistency text[] DEFAULT NULL, max_size @extschema@.dp_bound DEFAULT 10000,
        budget_shares float8[] DEFAULT NULL, release text DEFAULT NULL,
        shape @extschema@.dp_coco DEFAULT NULL, mean_size float8 DEFAULT NULL,
        simulations int DEFAULT 10)
    RETURNS TABLE (level int, regions bigint, estimators text[], consistency text,
                   expected_emd float8, standard_error float8, obtained text, chosen boolean)
    AS 'MODULE_PATHNAME', 'dp_explain_hierarchy_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_explain_hierarchy(
        text, float8, text[], text[], @extschema@.dp_bound, float8[], text, @extschema@.dp_coco,
        float8, int)
    IS 'the expected error of dp_hierarchy_release by each method, from what is public';

CREATE FUNCTION @extschema@.dp_hierarchy_intervals(
        dataset text, release text, confidence float8 DEFAULT 0.9,
        simultaneous boolean DEFAULT false)
    RETURNS TABLE (level int, path text[], statistic text, size bigint, value float8,
                   lower float8, upper float8)
    AS 'MODULE_PATHNAME', 'dp_hierarchy_intervals_wrapper'
    LANGUAGE C STABLE PARALLEL UNSAFE ROWS 1000 -- it takes a snapshot of its own
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_hierarchy_intervals(text, text, float8, boolean) IS
    'the error bars of a stored release, for nothing: released numbers are all that is read';

CREATE FUNCTION @extschema@.dp_hierarchy_consistent(
        source regclass, consistency text DEFAULT 'matching', totals regclass DEFAULT NULL)
    RETURNS TABLE (level int, path text[], size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_hierarchy_consistent_wrapper'
    LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION @extschema@.dp_hierarchy_consistent(regclass, text, regclass) IS
    'makes any noisy hierarchy consistent: integers that are not negative and add up';


