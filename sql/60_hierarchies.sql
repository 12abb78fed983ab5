-- Releases of a hierarchy (hierarchy.rs, leaf_histograms.rs, explain_hierarchy.rs, consistent.rs) -----

CREATE FUNCTION @extschema@.dp_hierarchy_release(
        dataset text, epsilon float8, estimators text[] DEFAULT '{auto}',
        consistency text DEFAULT 'matching', max_size bigint DEFAULT 10000,
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_hierarchy_release_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_hierarchy_release(text, float8, text[], text, bigint, float8[], text) IS
    'releases the histogram of every region of a dataset''s hierarchy with epsilon-differential privacy: integers that are not negative, add up, and keep the public numbers of groups. Rows with groups = 0 are left out; the root''s path is {}. A release with a name is stored and answered from the store, free, when asked for again';

CREATE FUNCTION dp.leaf_histograms_add(internal, max_size bigint, VARIADIC "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'leaf_histograms_add' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp.leaf_histograms_add(internal, bigint, "any") IS 'inside of the aggregate dp.leaf_histograms';
CREATE FUNCTION dp.leaf_histograms_merge(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'leaf_histograms_merge_wrapper' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp.leaf_histograms_merge(internal, internal) IS 'inside of the aggregate dp.leaf_histograms';
CREATE FUNCTION dp.leaf_histograms_write(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'leaf_histograms_write_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp.leaf_histograms_write(internal) IS 'inside of the aggregate dp.leaf_histograms';
CREATE FUNCTION dp.leaf_histograms_read(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'leaf_histograms_read_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp.leaf_histograms_read(bytea, internal) IS 'inside of the aggregate dp.leaf_histograms';

-- In schema dp, where nobody can put another one that fits the columns of a table better.
CREATE AGGREGATE dp.leaf_histograms(max_size bigint, VARIADIC "any") (
    SFUNC = dp.leaf_histograms_add, STYPE = internal, COMBINEFUNC = dp.leaf_histograms_merge,
    SERIALFUNC = dp.leaf_histograms_write, DESERIALFUNC = dp.leaf_histograms_read,
    FINALFUNC = dp.leaf_histograms_write, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp.leaf_histograms(bigint, "any") IS
    'inside of dp_hierarchy_release: the exact histogram of each lowest region, CONFIDENTIAL, from columns that tell the region and then the size of a group; its bytes can change with every version';
-- CREATE AGGREGATE always writes "immutable", but what a region prints as can depend on settings
UPDATE pg_catalog.pg_proc SET provolatile = 's' WHERE oid = 'dp.leaf_histograms(bigint, "any")'::pg_catalog.regprocedure;

CREATE FUNCTION dp.region_name(anyelement) RETURNS text
    AS 'MODULE_PATHNAME', 'region_name_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp.region_name(anyelement) IS
    'inside of dp_hierarchy_release: what a value prints as, NULL if that is too long for the name of a region';

CREATE FUNCTION dp.is_short(anyelement) RETURNS boolean
    AS 'MODULE_PATHNAME', 'is_short_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp.is_short(anyelement) IS
    'inside of dp_hierarchy_release: whether a value is short enough to be compared without an error, whatever it is';

CREATE FUNCTION @extschema@.dp_explain_hierarchy(
        dataset text, epsilon float8, estimators text[] DEFAULT NULL, consistency text[] DEFAULT NULL,
        max_size bigint DEFAULT 10000, budget_shares float8[] DEFAULT NULL,
        release text DEFAULT NULL, shape @extschema@.dp_coco DEFAULT NULL, mean_size float8 DEFAULT NULL, simulations int DEFAULT 10)
    RETURNS TABLE (level int, regions bigint, estimators text[], consistency text, expected_emd float8,
                   standard_error float8, obtained text, chosen boolean)
    AS 'MODULE_PATHNAME', 'dp_explain_hierarchy_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_explain_hierarchy(text, float8, text[], text[], bigint, float8[], text, @extschema@.dp_coco, float8, int) IS
    'how many entities a region of each level would be off by (the mean earth mover''s distance, and the standard error of its simulation) if dp_hierarchy_release were called with these arguments, for every estimator (a word, or one per level: Hc/Hc/Hg, or a choice: select:cut|Hc|Hg) with every consistency method. The data are made up from what is public: an earlier release of the dataset, or the regions'' numbers of groups with sizes of the given shape, or of a heavy-tailed one with this mean size (10). Reads no private row, costs no budget; the same call gives the same answer';

CREATE FUNCTION @extschema@.dp_hierarchy_consistent(
        source regclass, consistency text DEFAULT 'matching', totals regclass DEFAULT NULL)
    RETURNS TABLE (level int, path text[], size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_hierarchy_consistent_wrapper' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION @extschema@.dp_hierarchy_consistent(regclass, text, regclass) IS
    'makes any noisy hierarchy consistent: integers that are not negative, children summing to parents for every size. source: a table or view with path text[], size, groups (any numbers) and, if known, variance; a size without a row counts as 0 groups. totals: path text[], groups where the number of groups is public, for the root alone or for every region (pgsr, topdown and chain keep the root''s). Post-processing of what you may read: it needs no dataset and costs no budget';


