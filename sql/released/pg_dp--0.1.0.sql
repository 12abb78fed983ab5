\echo Use "CREATE EXTENSION pg_dp" to load this file. \quit

-- Public types and functions go to the schema that CREATE EXTENSION names; the catalog (datasets,
-- ledger, stored releases) lies in schema dp. Functions that read the catalog or private tables pin
-- their search_path; most are written in Rust, in src/pg/.

-- This file is put together from the parts in sql/ in the order of their numbers. A part uses only
-- what those before it make.

-- The schema that CREATE EXTENSION names may be one where others can create, and what they have
-- made there could fit an expression of this script better than what is meant. So nothing is looked
-- for there: all is qualified but what is PostgreSQL's own.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Names of regions pass through UTF8: in another encoding a release could fail once it is charged.
DO $$
BEGIN
    IF getdatabaseencoding() <> 'UTF8' THEN
        RAISE 'pg_dp needs a database with the encoding UTF8, this one has %', getdatabaseencoding()
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0 makes one.';
    END IF;
END $$;


-- Types -----------------------------------------------------------------------------------------

CREATE TYPE @extschema@.coco;
CREATE FUNCTION @extschema@.coco_in(cstring) RETURNS @extschema@.coco
    AS 'MODULE_PATHNAME', 'coco_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.coco_out(@extschema@.coco) RETURNS cstring
    AS 'MODULE_PATHNAME', 'coco_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.coco_recv(internal) RETURNS @extschema@.coco
    AS 'MODULE_PATHNAME', 'coco_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.coco_send(@extschema@.coco) RETURNS bytea
    AS 'MODULE_PATHNAME', 'coco_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.coco (
    INPUT = @extschema@.coco_in, OUTPUT = @extschema@.coco_out,
    RECEIVE = @extschema@.coco_recv, SEND = @extschema@.coco_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);
COMMENT ON TYPE @extschema@.coco IS
    'exact, CONFIDENTIAL count-of-counts histogram: how many groups there are of each size';
COMMENT ON FUNCTION @extschema@.coco_in(cstring) IS 'text input of coco';
COMMENT ON FUNCTION @extschema@.coco_out(@extschema@.coco) IS 'text output of coco';
COMMENT ON FUNCTION @extschema@.coco_recv(internal) IS 'binary input of coco';
COMMENT ON FUNCTION @extschema@.coco_send(@extschema@.coco) IS 'binary output of coco';

CREATE TYPE @extschema@.dp_coco;
CREATE FUNCTION @extschema@.dp_coco_in(cstring) RETURNS @extschema@.dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_coco_out(@extschema@.dp_coco) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_coco_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_coco_recv(internal) RETURNS @extschema@.dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_coco_send(@extschema@.dp_coco) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_coco_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- a category of released types: what is written in quotes, as in dp_unnest('{1:2}'), is a dp_coco
CREATE TYPE @extschema@.dp_coco (
    INPUT = @extschema@.dp_coco_in, OUTPUT = @extschema@.dp_coco_out,
    RECEIVE = @extschema@.dp_coco_recv, SEND = @extschema@.dp_coco_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'd', PREFERRED = true
);
COMMENT ON TYPE @extschema@.dp_coco IS
    'released, differentially private histogram: how many groups there are of each size';
COMMENT ON FUNCTION @extschema@.dp_coco_in(cstring) IS 'text input of dp_coco';
COMMENT ON FUNCTION @extschema@.dp_coco_out(@extschema@.dp_coco) IS 'text output of dp_coco';
COMMENT ON FUNCTION @extschema@.dp_coco_recv(internal) IS 'binary input of dp_coco';
COMMENT ON FUNCTION @extschema@.dp_coco_send(@extschema@.dp_coco) IS 'binary output of dp_coco';

CREATE TYPE @extschema@.bins;
CREATE FUNCTION @extschema@.bins_in(cstring) RETURNS @extschema@.bins
    AS 'MODULE_PATHNAME', 'bins_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.bins_out(@extschema@.bins) RETURNS cstring
    AS 'MODULE_PATHNAME', 'bins_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.bins_recv(internal) RETURNS @extschema@.bins
    AS 'MODULE_PATHNAME', 'bins_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.bins_send(@extschema@.bins) RETURNS bytea
    AS 'MODULE_PATHNAME', 'bins_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.bins (
    INPUT = @extschema@.bins_in, OUTPUT = @extschema@.bins_out,
    RECEIVE = @extschema@.bins_recv, SEND = @extschema@.bins_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);
COMMENT ON TYPE @extschema@.bins IS
    'exact, CONFIDENTIAL histogram: how many rows there are in each of consecutive bins';
COMMENT ON FUNCTION @extschema@.bins_in(cstring) IS 'text input of bins';
COMMENT ON FUNCTION @extschema@.bins_out(@extschema@.bins) IS 'text output of bins';
COMMENT ON FUNCTION @extschema@.bins_recv(internal) IS 'binary input of bins';
COMMENT ON FUNCTION @extschema@.bins_send(@extschema@.bins) IS 'binary output of bins';

CREATE TYPE @extschema@.dp_ranges;
CREATE FUNCTION @extschema@.dp_ranges_in(cstring) RETURNS @extschema@.dp_ranges
    AS 'MODULE_PATHNAME', 'dp_ranges_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_ranges_out(@extschema@.dp_ranges) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_ranges_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_ranges_recv(internal) RETURNS @extschema@.dp_ranges
    AS 'MODULE_PATHNAME', 'dp_ranges_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_ranges_send(@extschema@.dp_ranges) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_ranges_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.dp_ranges (
    INPUT = @extschema@.dp_ranges_in, OUTPUT = @extschema@.dp_ranges_out,
    RECEIVE = @extschema@.dp_ranges_recv, SEND = @extschema@.dp_ranges_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'd'
);
COMMENT ON TYPE @extschema@.dp_ranges IS
    'released, differentially private histogram over bins, which answers any range';
COMMENT ON FUNCTION @extschema@.dp_ranges_in(cstring) IS 'text input of dp_ranges';
COMMENT ON FUNCTION @extschema@.dp_ranges_out(@extschema@.dp_ranges) IS 'text output of dp_ranges';
COMMENT ON FUNCTION @extschema@.dp_ranges_recv(internal) IS 'binary input of dp_ranges';
COMMENT ON FUNCTION @extschema@.dp_ranges_send(@extschema@.dp_ranges) IS
    'binary output of dp_ranges';

-- there is no cast between confidential and released types, on purpose
CREATE FUNCTION @extschema@.coco_to_jsonb(@extschema@.coco) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'coco_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.coco_to_jsonb(@extschema@.coco) IS 'inside of the cast to jsonb';
CREATE CAST (@extschema@.coco AS jsonb) WITH FUNCTION @extschema@.coco_to_jsonb(@extschema@.coco);
COMMENT ON CAST (@extschema@.coco AS jsonb) IS '{"size": groups, ...}';
CREATE FUNCTION @extschema@.dp_coco_to_jsonb(@extschema@.dp_coco) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'dp_coco_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_to_jsonb(@extschema@.dp_coco) IS
    'inside of the cast to jsonb';
CREATE CAST (@extschema@.dp_coco AS jsonb)
    WITH FUNCTION @extschema@.dp_coco_to_jsonb(@extschema@.dp_coco);
COMMENT ON CAST (@extschema@.dp_coco AS jsonb) IS '{"size": groups, ...}';
CREATE FUNCTION @extschema@.bins_to_jsonb(@extschema@.bins) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'bins_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.bins_to_jsonb(@extschema@.bins) IS 'inside of the cast to jsonb';
CREATE CAST (@extschema@.bins AS jsonb) WITH FUNCTION @extschema@.bins_to_jsonb(@extschema@.bins);
COMMENT ON CAST (@extschema@.bins AS jsonb) IS
    '{"lo": lo, "hi": hi, "counts": {"bin": count, ...}}';
CREATE FUNCTION @extschema@.dp_ranges_to_jsonb(@extschema@.dp_ranges) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'dp_ranges_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_ranges_to_jsonb(@extschema@.dp_ranges) IS
    'inside of the cast to jsonb';
CREATE CAST (@extschema@.dp_ranges AS jsonb)
    WITH FUNCTION @extschema@.dp_ranges_to_jsonb(@extschema@.dp_ranges);
COMMENT ON CAST (@extschema@.dp_ranges AS jsonb) IS
    'what was released: bounds, method, parameters, running sums of the noisy counts';


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


-- Releases of one histogram ---------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_coco_histogram(
        h @extschema@.coco, epsilon float8, max_size bigint DEFAULT 10000,
        method text DEFAULT 'auto', dataset text DEFAULT NULL, name text DEFAULT NULL)
    RETURNS @extschema@.dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram(
        @extschema@.coco, float8, bigint, text, text, text) IS
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


-- The catalog -----------------------------------------------------------------------------------

CREATE SCHEMA dp;
COMMENT ON SCHEMA dp IS 'pg_dp: datasets, budget ledger, stored releases';
REVOKE ALL ON SCHEMA dp FROM PUBLIC;
GRANT USAGE ON SCHEMA dp TO PUBLIC;

-- Columns are explained by the comments on the views, which are what users read. Roles and
-- relations are kept by number and by name. A column of type regrole or regclass would make the
-- restore of the whole ledger fail where one role or table is missing; a number alone could mean
-- another one.
CREATE FUNCTION dp.role(role oid, name text) RETURNS oid
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN pg_catalog.pg_get_userbyid(role) = name THEN role ELSE 10::oid END;
COMMENT ON FUNCTION dp.role(oid, text) IS
    'the role, if it is still the one of that name, or else the first superuser';

-- Datasets whose tables share rows add up, and the public table of one must not have its private
-- rows.
CREATE FUNCTION dp.tables_behind(relation oid) RETURNS SETOF oid
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp ROWS 10
BEGIN ATOMIC
    WITH RECURSIVE behind (class, object) AS (
        SELECT 'pg_catalog.pg_class'::regclass::oid, relation
        UNION
        SELECT next.class, next.object
          FROM behind AS b CROSS JOIN LATERAL (
            SELECT b.class, i.inhrelid FROM pg_catalog.pg_inherits AS i
             WHERE b.class = 'pg_catalog.pg_class'::regclass AND i.inhparent = b.object
            UNION ALL -- the query of a view
            SELECT e.refclassid, e.refobjid
              FROM pg_catalog.pg_rewrite AS w
              JOIN pg_catalog.pg_depend AS e
                   ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid
             WHERE b.class = 'pg_catalog.pg_class'::regclass
               AND w.ev_class = b.object AND w.ev_type = '1'
            UNION ALL -- a function that is called there, if its body is no string
            SELECT e.refclassid, e.refobjid FROM pg_catalog.pg_depend AS e
             WHERE b.class = 'pg_catalog.pg_proc'::regclass
               AND e.classid = b.class AND e.objid = b.object
          ) AS next (class, object)
         WHERE next.class IN ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_proc'::regclass)
    )
    SELECT b.object FROM behind AS b WHERE b.class = 'pg_catalog.pg_class'::regclass;
END;
COMMENT ON FUNCTION dp.tables_behind(oid) IS
    'the relations from which one has its rows: itself, its children, what a view reads';

CREATE TABLE dp.dataset (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    owner oid NOT NULL,
    owner_name text NOT NULL,
    entities oid NOT NULL,
    entities_name text NOT NULL,
    groups oid,
    groups_name text,
    leaves oid, -- where the histograms are that were counted from these two
    leaves_name text,
    group_key text[] NOT NULL,
    hierarchy text[] NOT NULL,
    size_column text,
    privacy_unit text,
    max_rows_per_unit integer NOT NULL DEFAULT 1 CHECK (max_rows_per_unit > 0),
    fingerprint text NOT NULL, -- of the tables and columns as they were declared
    epsilon_budget numeric NOT NULL CHECK (epsilon_budget > 0),
    delta_budget numeric NOT NULL CHECK (delta_budget >= 0),
    smallest_charge numeric NOT NULL CHECK (smallest_charge > 0),
    epsilon_sum numeric NOT NULL DEFAULT 0,
    delta_sum numeric NOT NULL DEFAULT 0,
    rho_sum numeric NOT NULL DEFAULT 0,
    releases bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    dropped_at timestamptz -- a dropped dataset stays, for its ledger
);
CREATE UNIQUE INDEX dataset_name ON dp.dataset (name) WHERE dropped_at IS NULL;
-- What is counted for one replaces what was, whose bound on a unit's rows may be another.
CREATE UNIQUE INDEX dataset_leaves ON dp.dataset (leaves) WHERE dropped_at IS NULL;
COMMENT ON TABLE dp.dataset IS
    'declared datasets and their budgets, dropped ones included, which dp.datasets shows';

CREATE TABLE dp.leaf_count (
    dataset bigint PRIMARY KEY REFERENCES dp.dataset,
    counted_at timestamptz NOT NULL,
    counted_by text NOT NULL
);
COMMENT ON TABLE dp.leaf_count IS
    'when dp_count_leaves counted the leaves of a dataset, which dp.datasets shows';

CREATE TABLE dp.access (
    dataset bigint NOT NULL REFERENCES dp.dataset,
    grantee oid NOT NULL,
    grantee_name text NOT NULL,
    epsilon_limit numeric CHECK (epsilon_limit > 0),
    epsilon_spent numeric NOT NULL DEFAULT 0,
    revoked boolean NOT NULL DEFAULT false, -- a role that gets it back has still spent what it has
    granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    granted_by text NOT NULL,
    require_name boolean NOT NULL,
    PRIMARY KEY (dataset, grantee)
);
COMMENT ON TABLE dp.access IS
    'who may release from a dataset besides its owner, which dp.grants shows';

-- The ledger. A server that was restored, promoted, or got the extension anew is another one than
-- made the entries before: its entries start a new epoch.
CREATE TABLE dp.epoch (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identity text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE dp.epoch IS 'the lives of this ledger: a restore or a promotion starts a new one';

CREATE TABLE dp.charge (
    id bigint PRIMARY KEY, -- without gaps
    epoch bigint NOT NULL REFERENCES dp.epoch,
    charged_at timestamptz NOT NULL,
    charged_by text NOT NULL,
    dataset bigint NOT NULL REFERENCES dp.dataset,
    function text NOT NULL,
    epsilon numeric NOT NULL CHECK (epsilon >= 0),
    delta numeric NOT NULL CHECK (delta >= 0),
    rho numeric NOT NULL CHECK (rho >= 0),
    parameters jsonb NOT NULL,
    nonce uuid NOT NULL, -- so that nobody finds out an entry by hashing guesses
    hash bytea NOT NULL
);
COMMENT ON TABLE dp.charge IS 'every charge to a budget, append-only, which dp.ledger shows';

CREATE FUNCTION dp.identity() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN ( -- the timeline that is written now; the control file tells that of the last checkpoint
    SELECT concat_ws('/', s.system_identifier,
                     substr(pg_catalog.pg_walfile_name(
                         pg_catalog.pg_current_wal_insert_lsn()), 1, 8),
                     d.oid, e.oid)
      FROM pg_catalog.pg_control_system() AS s, pg_catalog.pg_database AS d,
           pg_catalog.pg_extension AS e
     WHERE d.datname = pg_catalog.current_database() AND e.extname = 'pg_dp');
COMMENT ON FUNCTION dp.identity() IS 'which server, timeline, database and installation this is';
REVOKE EXECUTE ON FUNCTION dp.identity() FROM PUBLIC;

CREATE FUNCTION dp.charge_entry(
        id bigint, epoch bigint, charged_at timestamptz, charged_by text, dataset bigint,
        function text, epsilon numeric, delta numeric, rho numeric, parameters jsonb, nonce uuid)
    RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN pg_catalog.jsonb_build_array(
    id, epoch, pg_catalog.to_char(charged_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'),
    charged_by, dataset, function, pg_catalog.trim_scale(epsilon)::text,
    pg_catalog.trim_scale(delta)::text, pg_catalog.trim_scale(rho)::text, parameters,
    nonce)::text;
COMMENT ON FUNCTION dp.charge_entry(
        bigint, bigint, timestamptz, text, bigint, text, numeric, numeric, numeric, jsonb, uuid)
    IS 'an entry of the ledger as the text that is hashed, an array of JSON';

-- PostgreSQL's own sha256: an auditor can recompute the chain without our code.
CREATE FUNCTION dp.charge_hash(
        previous bytea, id bigint, epoch bigint, charged_at timestamptz, charged_by text,
        dataset bigint, function text, epsilon numeric, delta numeric, rho numeric,
        parameters jsonb, nonce uuid)
    RETURNS bytea LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN pg_catalog.sha256(
    coalesce(previous, ''::bytea)
    || pg_catalog.convert_to(
           dp.charge_entry(id, epoch, charged_at, charged_by, dataset, function, epsilon, delta,
                           rho, parameters, nonce), 'UTF8'));
COMMENT ON FUNCTION dp.charge_hash(
        bytea, bigint, bigint, timestamptz, text, bigint, text, numeric, numeric, numeric,
        jsonb, uuid)
    IS 'a link of the ledger''s hash chain: SHA-256 of the link before and of the entry';

CREATE FUNCTION dp.refuse_change() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE 'the ledger can only be added to' USING ERRCODE = 'object_not_in_prerequisite_state';
END $$;
COMMENT ON FUNCTION dp.refuse_change() IS 'keeps the ledger append-only';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dp.charge
    FOR EACH STATEMENT EXECUTE FUNCTION dp.refuse_change();
-- also with session_replication_role = replica
ALTER TABLE dp.charge ENABLE ALWAYS TRIGGER append_only;

-- Releases that are charged together, and then shown together.
CREATE TABLE dp.publication (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    made_by oid NOT NULL,
    made_by_name text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    releases jsonb NOT NULL, -- their datasets and names
    asked_for bytea NOT NULL, -- SHA-256 of what it was called with
    published_at timestamptz,
    UNIQUE (made_by, name)
);
COMMENT ON TABLE dp.publication IS
    'releases that are charged and shown together, which dp.publications shows';

CREATE TABLE dp.release (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dataset bigint NOT NULL REFERENCES dp.dataset,
    dataset_name text NOT NULL, -- readers know it by that, also when the dataset is dropped
    name text NOT NULL,
    charge bigint NOT NULL UNIQUE, -- of dp.charge, from which nothing goes
    released_at timestamptz, -- when it was stored; until then it is charged only
    parameters jsonb NOT NULL,
    attempts integer NOT NULL DEFAULT 0, -- counted before private rows are read; of a stream, since
                                         -- its last ticks
    level_epsilons float8[], -- NULL where one release was chosen among several
    status text NOT NULL DEFAULT 'published' CHECK (status IN ('draft', 'published', 'retracted')),
    status_since timestamptz NOT NULL DEFAULT clock_timestamp(),
    title text,
    description text,
    valid daterange,
    publication bigint REFERENCES dp.publication, -- that shows it when all of it is stored
    UNIQUE (dataset, name)
);
-- A dataset that was dropped and declared again has the names of both.
CREATE UNIQUE INDEX release_name ON dp.release (dataset_name, name)
    WHERE released_at IS NOT NULL AND status <> 'retracted';
COMMENT ON TABLE dp.release IS
    'releases with a name: charged (dp.unstored_charges), and then stored (dp.releases)';

CREATE TABLE dp.release_status (
    release bigint NOT NULL REFERENCES dp.release,
    status text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    set_by text NOT NULL
);
COMMENT ON TABLE dp.release_status IS
    'who has published and retracted releases when, which dp.release_history shows';

CREATE FUNCTION dp.region(path text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE path
    WHEN '{}' THEN '(all)'
    WHEN '{(all)}' THEN '\(all)'
    ELSE (SELECT string_agg(replace(replace(p.name, '\', '\\'), '/', '\/'), '/' ORDER BY p.n)
            FROM unnest(path) WITH ORDINALITY AS p (name, n))
END;
COMMENT ON FUNCTION dp.region(text[]) IS
    'a path as one text, each as another: names joined by /, where / and \ get a \ in front';

-- What the histograms say is computed once, when they are stored: dashboards ask for it often.
CREATE TABLE dp.release_region (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- the regions' order: level by level
    path text[] NOT NULL,
    histogram @extschema@.dp_coco NOT NULL,
    region text NOT NULL GENERATED ALWAYS AS (dp.region(path)) STORED,
    parent text GENERATED ALWAYS AS (
        CASE WHEN path <> '{}' THEN dp.region(path[:cardinality(path) - 1]) END) STORED,
    groups bigint NOT NULL GENERATED ALWAYS AS (@extschema@.dp_groups(histogram)) STORED,
    entities bigint NOT NULL GENERATED ALWAYS AS (@extschema@.dp_entities(histogram)) STORED,
    mean_size float8 GENERATED ALWAYS AS (@extschema@.dp_mean_size(histogram)) STORED,
    median bigint GENERATED ALWAYS AS (@extschema@.dp_quantile(histogram, 0.5::float8)) STORED,
    p90 bigint GENERATED ALWAYS AS (@extschema@.dp_quantile(histogram, 0.9::float8)) STORED,
    gini float8 GENERATED ALWAYS AS (@extschema@.dp_gini(histogram)) STORED,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_region IS 'the regions of stored releases, which dp.release_rows shows';

-- The same is computed each time, but it takes as long as nine releases.
CREATE TABLE dp.release_interval (
    release bigint NOT NULL,
    n bigint NOT NULL,
    entities_lower float8 NOT NULL,
    entities_upper float8 NOT NULL,
    mean_size_lower float8, -- these are NULL without groups
    mean_size_upper float8,
    median_lower float8,
    median_upper float8,
    p90_lower float8,
    p90_upper float8,
    gini_lower float8,
    gini_upper float8,
    PRIMARY KEY (release, n),
    FOREIGN KEY (release, n) REFERENCES dp.release_region
);
COMMENT ON TABLE dp.release_interval IS
    'the error bars of stored releases that dp_keep_intervals has kept';

CREATE TABLE dp.release_measurement (
    release bigint NOT NULL,
    n bigint NOT NULL,
    first_look boolean NOT NULL,
    kind text NOT NULL,
    first_place bigint NOT NULL,
    "values" bigint[] NOT NULL, -- at this place and those that follow
    scale float8 NOT NULL,
    PRIMARY KEY (release, n, first_look, kind),
    FOREIGN KEY (release, n) REFERENCES dp.release_region
);
COMMENT ON TABLE dp.release_measurement IS
    'what was measured of regions and is kept, which dp.release_measurements shows';

-- At the end of the transaction that stores or publishes it.
CREATE FUNCTION dp.tell_published(release bigint) RETURNS void
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT pg_catalog.pg_notify('pg_dp_published', pg_catalog.jsonb_build_object(
               'dataset', r.dataset_name, 'release', r.name)::text)
      FROM dp.release AS r
     WHERE r.id = tell_published.release AND r.released_at IS NOT NULL AND r.status = 'published';
END;
COMMENT ON FUNCTION dp.tell_published(bigint) IS
    'tells who has said LISTEN pg_dp_published that a release can be read';
REVOKE EXECUTE ON FUNCTION dp.tell_published(bigint) FROM PUBLIC;

CREATE TABLE dp.release_sum (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- as they were asked
    grain text NOT NULL,
    lower_bound text, -- a number or a time, as parameters tell
    upper_bound text,
    sum float8 NOT NULL,
    stddev float8 NOT NULL,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_sum IS 'the sums of stored range releases, which dp.range_rows shows';

CREATE TABLE dp.release_bins (
    release bigint PRIMARY KEY REFERENCES dp.release,
    ranges @extschema@.dp_ranges NOT NULL
);
COMMENT ON TABLE dp.release_bins IS 'stored releases of bins, which dp.release_ranges shows';

CREATE TABLE dp.release_rectangle (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- as they were asked
    row_lower bigint,
    row_upper bigint, -- not included, as column_upper
    column_lower bigint,
    column_upper bigint,
    sum float8 NOT NULL,
    stddev float8 NOT NULL,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_rectangle IS
    'the sums of stored releases of rectangles, which dp.rectangle_rows shows';

-- What is asked of all regions is stored once.
CREATE TABLE dp.release_range (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- as they were asked
    grain text NOT NULL,
    lower_bound text, -- a number or a time, as parameters tell
    upper_bound text,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_range IS
    'the ranges of stored releases by region, which dp.region_range_rows shows';

CREATE TABLE dp.release_region_sums (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- the regions' order: level by level
    path text[] NOT NULL,
    region text NOT NULL GENERATED ALWAYS AS (dp.region(path)) STORED,
    sums float8[] NOT NULL, -- of the ranges in their order
    stddevs float8[] NOT NULL,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_region_sums IS
    'the regions of stored ranges by region, which dp.region_range_rows shows';

-- Of time, what it is in the session's time zone; of numbers, how many.
CREATE FUNCTION dp.grain(value_type regtype, lower_bound text, upper_bound text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET intervalstyle = postgres
RETURN CASE
    WHEN lower_bound IS NULL OR upper_bound IS NULL THEN 'open'
    WHEN value_type = 'bigint'::regtype THEN (upper_bound::numeric - lower_bound::numeric)::text
    ELSE (
        SELECT coalesce(
                   (SELECT u.unit
                      FROM (VALUES ('year', interval '1 year', false),
                                   ('quarter', interval '3 months', false),
                                   ('month', interval '1 month', false),
                                   ('week', interval '7 days', false),
                                   ('day', interval '1 day', false),
                                   ('hour', interval '1 hour', true),
                                   ('minute', interval '1 minute', true),
                                   ('second', interval '1 second', true)) AS u (unit, length, exact)
                     WHERE CASE WHEN u.exact THEN t.length = u.length
                                ELSE date_trunc(CASE u.unit WHEN 'week' THEN 'day' ELSE u.unit END,
                                                t.first) = t.first
                                     AND t.first + u.length = t.last END
                     ORDER BY u.length DESC LIMIT 1),
                   t.length::text)
          FROM (SELECT lower_bound::timestamptz::timestamp, upper_bound::timestamptz::timestamp,
                       upper_bound::timestamptz - lower_bound::timestamptz
                 WHERE value_type = 'timestamptz'::regtype
                UNION ALL
                SELECT lower_bound::timestamp, upper_bound::timestamp,
                       upper_bound::timestamp - lower_bound::timestamp
                 WHERE value_type <> 'timestamptz'::regtype) AS t (first, last, length))
END;
COMMENT ON FUNCTION dp.grain(regtype, text, text) IS
    'how long a range is: year, quarter, month, week, day, hour, minute, second, or its length';

SELECT pg_catalog.pg_extension_config_dump('dp.dataset', '');
SELECT pg_catalog.pg_extension_config_dump('dp.dataset_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp.leaf_count', '');
SELECT pg_catalog.pg_extension_config_dump('dp.access', '');
SELECT pg_catalog.pg_extension_config_dump('dp.epoch', '');
SELECT pg_catalog.pg_extension_config_dump('dp.epoch_n_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp.charge', '');
SELECT pg_catalog.pg_extension_config_dump('dp.publication', '');
SELECT pg_catalog.pg_extension_config_dump('dp.publication_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_region', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_interval', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_measurement', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_sum', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_bins', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_rectangle', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_range', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_region_sums', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_status', '');



-- Streams ---------------------------------------------------------------------------------------

-- A stream is a release with a name, stored when it is begun. Its ticks follow.
CREATE TABLE dp.stream (
    release bigint PRIMARY KEY REFERENCES dp.release,
    time_column text NOT NULL,
    entities oid NOT NULL, -- the table that it was a column of when it was begun or confirmed
    attnum smallint NOT NULL, -- and its number there
    value_type text NOT NULL CHECK (value_type IN ('date', 'timestamp', 'timestamptz')),
    time_zone text, -- by whose clock ticks end; NULL of a column that has one
    start_at text NOT NULL,
    origin bigint NOT NULL, -- the same in microseconds since 2000
    width bigint NOT NULL CHECK (width > 0), -- in microseconds
    horizon bigint NOT NULL CHECK (horizon > 0),
    branching bigint, -- of the tree that is measured, NULL of another method
    levels bigint,
    identity text -- of the server where its owner has said that no tick is missing
);
COMMENT ON TABLE dp.stream IS 'streams, which dp.streams shows';

CREATE TABLE dp.stream_tick (
    release bigint NOT NULL REFERENCES dp.stream,
    n bigint NOT NULL, -- from 0 on, without gaps
    lower_bound text NOT NULL,
    upper_bound text NOT NULL,
    count float8 NOT NULL,
    stddev float8 NOT NULL,
    total float8 NOT NULL,
    total_stddev float8 NOT NULL,
    noisy bigint[] NOT NULL, -- what was measured
    estimates float8[] NOT NULL, -- what all later answers are made of
    released_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.stream_tick IS 'the ticks of streams as they were told, which dp.stream_ticks shows';

-- Later ticks are measured together with earlier ones, so their exact counts are kept, as long as
-- there are later ones: apart from all that may be told, and in as many bytes whatever they are.
CREATE TABLE dp.stream_count (
    release bigint NOT NULL,
    n bigint NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (release, n),
    FOREIGN KEY (release, n) REFERENCES dp.stream_tick
);
COMMENT ON TABLE dp.stream_count IS 'the exact counts of the ticks of streams: private, shown nowhere';

SELECT pg_catalog.pg_extension_config_dump('dp.stream', '');
SELECT pg_catalog.pg_extension_config_dump('dp.stream_tick', '');
SELECT pg_catalog.pg_extension_config_dump('dp.stream_count', '');
-- Datasets and budgets --------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_create_dataset(
        name text, entities regclass, group_key text[], hierarchy text[],
        groups regclass DEFAULT NULL, size_column text DEFAULT NULL,
        epsilon_budget float8 DEFAULT NULL, delta_budget float8 DEFAULT 0,
        privacy_unit text DEFAULT NULL, max_rows_per_unit integer DEFAULT NULL,
        leaves regclass DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_create_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_create_dataset(
        text, regclass, text[], text[], regclass, text, float8, float8, text, integer, regclass)
    IS 'declares a private table, its groups, their hierarchy, and the budget of its releases';

CREATE FUNCTION @extschema@.dp_confirm_dataset(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_confirm_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_confirm_dataset(text) IS
    'confirms that a dataset whose tables were changed still means what it did';

CREATE FUNCTION @extschema@.dp_leaf_query(dataset text) RETURNS text
    AS 'MODULE_PATHNAME', 'dp_leaf_query_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_leaf_query(text) IS
    'SQL that counts a dataset''s leaves wherever its tables lie';

-- What lies on other servers is counted there where it can be.
CREATE PROCEDURE @extschema@.dp_count_leaves(dataset text)
    AS 'MODULE_PATHNAME', 'dp_count_leaves_wrapper' LANGUAGE C
    SET search_path = pg_catalog, pg_temp
    SET enable_partitionwise_aggregate = on
    SET enable_partitionwise_join = on;
COMMENT ON PROCEDURE @extschema@.dp_count_leaves(text) IS
    'counts a dataset''s entities into its table of leaves, which releases read';

CREATE FUNCTION @extschema@.dp_drop_dataset(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_drop_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_drop_dataset(text) IS 'forgets a dataset, but neither its ledger nor what was released';

CREATE FUNCTION @extschema@.dp_set_smallest_charge(dataset text, epsilon float8) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_set_smallest_charge_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_set_smallest_charge(text, float8) IS
    'sets the least epsilon of a release by a role that the dataset was granted to';

CREATE FUNCTION @extschema@.dp_grant(
        dataset text, role regrole, epsilon_limit float8 DEFAULT NULL,
        require_name boolean DEFAULT true)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_grant_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_grant(text, regrole, float8, boolean) IS
    'lets a role release from a dataset, up to epsilon_limit of its budget';

CREATE FUNCTION @extschema@.dp_revoke(dataset text, role regrole) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_revoke_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_revoke(text, regrole) IS 'takes back what dp_grant gave';

CREATE FUNCTION @extschema@.dp_budget(dataset text)
    RETURNS TABLE (epsilon_budget numeric, epsilon_spent numeric, epsilon_left numeric,
                   delta_budget numeric, delta_spent numeric, releases bigint,
                   epsilon_sum numeric, epsilon_zcdp float8, rho float8)
    AS 'MODULE_PATHNAME', 'dp_budget_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_budget(text) IS 'what is spent and left of a dataset''s budget';

CREATE PROCEDURE @extschema@.dp_set_status(dataset text, release text, status text)
    AS 'MODULE_PATHNAME', 'dp_set_status_wrapper' LANGUAGE C
    SET search_path = pg_catalog, pg_temp;
COMMENT ON PROCEDURE @extschema@.dp_set_status(text, text, text) IS
    'publishes or retracts a stored release, or makes a draft of it';

CREATE PROCEDURE @extschema@.dp_describe_release(
        dataset text, release text, title text DEFAULT NULL, description text DEFAULT NULL,
        valid daterange DEFAULT NULL)
    AS 'MODULE_PATHNAME', 'dp_describe_release_wrapper' LANGUAGE C
    SET search_path = pg_catalog, pg_temp;
COMMENT ON PROCEDURE @extschema@.dp_describe_release(text, text, text, text, daterange) IS
    'sets title, description and period of validity of a stored release';

CREATE PROCEDURE @extschema@.dp_keep_intervals(dataset text, release text)
    AS 'MODULE_PATHNAME', 'dp_keep_intervals_wrapper' LANGUAGE C
    SET search_path = pg_catalog, pg_temp;
COMMENT ON PROCEDURE @extschema@.dp_keep_intervals(text, text) IS
    'keeps the error bars of a stored release, which dp.release_regions shows then';

CREATE FUNCTION @extschema@.dp_verify_ledger()
    RETURNS TABLE (entries bigint, epochs bigint, whole boolean, problem text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 1
BEGIN ATOMIC
    WITH chained AS (
        SELECT c.id, c.id = row_number() OVER by_id AS in_order,
               c.hash = dp.charge_hash(
                   lag(c.hash) OVER by_id, c.id, c.epoch, c.charged_at, c.charged_by, c.dataset,
                   c.function, c.epsilon, c.delta, c.rho, c.parameters, c.nonce) AS linked
          FROM dp.charge AS c WINDOW by_id AS (ORDER BY c.id)
    ), broken AS (
        SELECT min(id) FILTER (WHERE NOT (in_order AND linked)) AS first FROM chained
    ), unbalanced AS (
        SELECT min(d.id) AS first
          FROM dp.dataset AS d
          LEFT JOIN (SELECT dataset, count(*) AS n, sum(epsilon) AS epsilon, sum(delta) AS delta,
                            sum(rho) AS rho
                       FROM dp.charge GROUP BY dataset) AS c ON c.dataset = d.id
         WHERE (d.releases, d.epsilon_sum, d.delta_sum, d.rho_sum)
               <> (coalesce(c.n, 0), coalesce(c.epsilon, 0), coalesce(c.delta, 0),
                   coalesce(c.rho, 0))
    ), problems AS (
        SELECT CASE WHEN broken.first IS NOT NULL
                    THEN format('entry %s does not continue the chain', broken.first)
                    WHEN unbalanced.first IS NOT NULL
                    THEN format('the sums of dataset number %s are not those of its entries',
                                unbalanced.first)
               END AS problem
          FROM broken, unbalanced
    )
    SELECT (SELECT count(*) FROM dp.charge), (SELECT count(*) FROM dp.epoch), p.problem IS NULL,
           p.problem
      FROM problems AS p;
END;
COMMENT ON FUNCTION @extschema@.dp_verify_ledger() IS
    'tells whether an entry of the ledger was changed, removed or put in between';


-- Releases of a hierarchy -----------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_hierarchy_release(
        dataset text, epsilon float8, estimators text[] DEFAULT '{auto}',
        consistency text DEFAULT 'matching', max_size bigint DEFAULT 10000,
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        keep_measurements boolean DEFAULT false)
    RETURNS TABLE (level int, path text[], size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_hierarchy_release_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000; -- with a search_path of its own, but not for each row
COMMENT ON FUNCTION @extschema@.dp_hierarchy_release(
        text, float8, text[], text, bigint, float8[], text, boolean)
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
        consistency text[] DEFAULT NULL, max_size bigint DEFAULT 10000,
        budget_shares float8[] DEFAULT NULL, release text DEFAULT NULL,
        shape @extschema@.dp_coco DEFAULT NULL, mean_size float8 DEFAULT NULL,
        simulations int DEFAULT 10)
    RETURNS TABLE (level int, regions bigint, estimators text[], consistency text,
                   expected_emd float8, standard_error float8, obtained text, chosen boolean)
    AS 'MODULE_PATHNAME', 'dp_explain_hierarchy_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 20
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_explain_hierarchy(
        text, float8, text[], text[], bigint, float8[], text, @extschema@.dp_coco, float8,
        int)
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


-- Range sums ------------------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_range_release(
        b @extschema@.bins, epsilon float8, delta float8 DEFAULT 0, method text DEFAULT 'auto',
        dataset text DEFAULT NULL, name text DEFAULT NULL)
    RETURNS @extschema@.dp_ranges
    AS 'MODULE_PATHNAME', 'dp_range_release_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_release(
        @extschema@.bins, float8, float8, text, text, text) IS
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
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount numeric DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased')
    RETURNS TABLE (range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_numbers_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, int8range[], float8, float8, int8range, text, text, text, numeric, numeric, numeric, text)
    IS 'releases how many rows of a dataset lie in ranges of integers, or sums of amounts';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges daterange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds daterange DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount numeric DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased')
    RETURNS TABLE (range daterange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_dates_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, daterange[], interval, float8, float8, daterange, text, text, text, numeric, numeric, numeric, text)
    IS 'releases how many rows of a dataset lie in ranges of dates, or sums of amounts';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges tsrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tsrange DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount numeric DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased')
    RETURNS TABLE (range tsrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_timestamps_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, tsrange[], interval, float8, float8, tsrange, text, text, text, numeric, numeric, numeric, text)
    IS 'releases how many rows of a dataset lie in ranges of timestamps, or sums of amounts';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges tstzrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tstzrange DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount numeric DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased')
    RETURNS TABLE (range tstzrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_timestamptzs_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, tstzrange[], interval, float8, float8, tstzrange, text, text, text, numeric, numeric, numeric, text)
    IS 'releases how many rows of a dataset lie in ranges of timestamps with time zone, or sums of amounts';

CREATE FUNCTION @extschema@.dp_explain_ranges(
        bins bigint, epsilon float8, delta float8 DEFAULT 0, workload text DEFAULT 'all',
        methods text[] DEFAULT NULL, branching int DEFAULT NULL)
    RETURNS TABLE (method text, branching int, mean_variance float8, max_variance float8,
                   svd_ratio float8, chosen boolean)
    AS 'MODULE_PATHNAME', 'dp_explain_ranges_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.dp_explain_ranges(bigint, float8, float8, text, text[], int) IS
    'the exact variance of the answers of each method over a workload';



-- Sums over rectangles ----------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_rectangle_sums(
        dataset text, row_column text, column_column text, row_ranges int8range[],
        column_ranges int8range[], epsilon float8, delta float8 DEFAULT 0,
        row_bounds int8range DEFAULT NULL, column_bounds int8range DEFAULT NULL,
        method text DEFAULT 'auto', name text DEFAULT NULL, amount text DEFAULT NULL,
        max_amount numeric DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL)
    RETURNS TABLE (row_range int8range, column_range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_rectangle_sums_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_rectangle_sums(
        text, text, text, int8range[], int8range[], float8, float8, int8range, int8range, text, text,
        text, numeric, numeric, numeric)
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
-- Range sums by region -------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges int8range[], epsilon float8,
        delta float8 DEFAULT 0, bounds int8range DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount numeric DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_numbers_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, int8range[], float8, float8, int8range, text, float8[], text,
        text, numeric, numeric, numeric)
    IS 'releases how many rows of each region lie in ranges of integers, or sums of amounts';

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges daterange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds daterange DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount numeric DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range daterange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_dates_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, daterange[], interval, float8, float8, daterange, text, float8[], text,
        text, numeric, numeric, numeric)
    IS 'releases how many rows of each region lie in ranges of dates, or sums of amounts';

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges tsrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tsrange DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount numeric DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range tsrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_timestamps_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, tsrange[], interval, float8, float8, tsrange, text, float8[], text,
        text, numeric, numeric, numeric)
    IS 'releases how many rows of each region lie in ranges of timestamps, or sums of amounts';

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges tstzrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tstzrange DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount numeric DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range tstzrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_timestamptzs_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, tstzrange[], interval, float8, float8, tstzrange, text, float8[], text,
        text, numeric, numeric, numeric)
    IS 'releases how many rows of regions lie in ranges of timestamps with time zone, or sums of amounts';

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

-- Streams -----------------------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_stream_create(
        dataset text, stream text, time_column text, start date, bin_width interval, horizon bigint,
        epsilon float8, delta float8 DEFAULT 0)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_create_of_dates_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_create(
        text, text, text, date, interval, bigint, float8, float8) IS
    'charges a counter of rows by their dates, of all that it will ever release';

CREATE FUNCTION @extschema@.dp_stream_create(
        dataset text, stream text, time_column text, start timestamp, bin_width interval, horizon bigint,
        epsilon float8, delta float8 DEFAULT 0)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_create_of_timestamps_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_create(
        text, text, text, timestamp, interval, bigint, float8, float8) IS
    'charges a counter of rows by their timestamps, of all that it will ever release';

CREATE FUNCTION @extschema@.dp_stream_create(
        dataset text, stream text, time_column text, start timestamptz, bin_width interval, horizon bigint,
        epsilon float8, delta float8 DEFAULT 0)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_create_of_timestamptzs_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_create(
        text, text, text, timestamptz, interval, bigint, float8, float8) IS
    'charges a counter of rows by their timestamps with time zone, of all that it will ever release';

CREATE FUNCTION @extschema@.dp_stream_tick(dataset text, stream text)
    RETURNS TABLE (tick bigint, lower_bound text, upper_bound text, count float8, stddev float8,
                   total float8, total_stddev float8)
    AS 'MODULE_PATHNAME', 'dp_stream_tick_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_tick(text, text) IS
    'releases the ticks of a stream that have ended since it was called last';

CREATE FUNCTION @extschema@.dp_stream_sums(dataset text, stream text, ranges daterange[])
    RETURNS TABLE (range daterange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_stream_sums_of_dates_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_sums(text, text, daterange[]) IS
    'how many rows lie in ranges of dates, estimated from the ticks of a stream';

CREATE FUNCTION @extschema@.dp_stream_sums(dataset text, stream text, ranges tsrange[])
    RETURNS TABLE (range tsrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_stream_sums_of_timestamps_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_sums(text, text, tsrange[]) IS
    'how many rows lie in ranges of timestamps, estimated from the ticks of a stream';

CREATE FUNCTION @extschema@.dp_stream_sums(dataset text, stream text, ranges tstzrange[])
    RETURNS TABLE (range tstzrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_stream_sums_of_timestamptzs_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_sums(text, text, tstzrange[]) IS
    'how many rows lie in ranges of timestamps with time zone, estimated from the ticks of a stream';

CREATE FUNCTION @extschema@.dp_stream_confirm(dataset text, stream text, ticks bigint) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_confirm_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_confirm(text, text, bigint) IS
    'says that a stream has all ticks ever told, and that no row that was counted counts again';

CREATE FUNCTION @extschema@.dp_explain_stream(
        horizon bigint, epsilon float8, delta float8 DEFAULT 0)
    RETURNS TABLE (method text, branching int, levels int, mean_variance float8,
                   max_variance float8, count_variance float8)
    AS 'MODULE_PATHNAME', 'dp_explain_stream_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION @extschema@.dp_explain_stream(bigint, float8, float8) IS
    'the exact variances of the totals and counts of a stream, before anything is spent';
-- Views of the catalog --------------------------------------------------------------------------

-- Owners see their datasets, grants and charges, grantees what they may use and spent; what was
-- released is for everyone.
CREATE VIEW dp.datasets WITH (security_barrier) AS
    WITH usable AS MATERIALIZED (
        SELECT d.*, o.owned
          FROM dp.dataset AS d
         CROSS JOIN LATERAL (
            SELECT pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE')
          ) AS o (owned)
         WHERE d.dropped_at IS NULL
           AND (o.owned
                OR EXISTS (SELECT FROM dp.access AS a
                            WHERE a.dataset = d.id AND NOT a.revoked
                              AND pg_catalog.pg_has_role(dp.role(a.grantee, a.grantee_name),
                                                         'USAGE')))
    ), behind AS MATERIALIZED (
        SELECT d.id, t.relation
          FROM dp.dataset AS d
         CROSS JOIN LATERAL (SELECT dp.tables_behind(d.entities)
                             UNION SELECT dp.tables_behind(d.leaves)) AS t (relation)
    )
    SELECT u.name, u.owner::regrole AS owner, u.entities::regclass AS entities,
           u.groups::regclass AS groups, u.group_key, u.hierarchy, u.size_column, u.privacy_unit,
           u.max_rows_per_unit, b.epsilon_budget, b.epsilon_spent, b.epsilon_left,
           b.delta_budget, b.delta_spent, b.releases, u.created_at,
           pg_catalog.trim_scale(u.smallest_charge) AS smallest_charge,
           -- what was restored has other numbers, until its owner confirms it, but the same name
           ARRAY(
               SELECT DISTINCT
                      o.name || CASE WHEN o.dropped_at IS NULL THEN '' ELSE ' (dropped)' END
                 FROM dp.dataset AS o
                WHERE o.id <> u.id AND (o.dropped_at IS NULL OR o.releases > 0)
                  AND (u.owned OR o.id IN (SELECT v.id FROM usable AS v))
                  AND (o.entities_name = u.entities_name
                       OR o.id IN (
                          SELECT h.id FROM behind AS h
                           WHERE h.relation IN (
                              SELECT i.relation FROM behind AS i WHERE i.id = u.id)))
                ORDER BY 1) AS shares_rows_with,
           u.leaves::regclass AS leaves, c.counted_at
      FROM usable AS u CROSS JOIN LATERAL @extschema@.dp_budget(u.name) AS b
      LEFT JOIN dp.leaf_count AS c ON c.dataset = u.id;
COMMENT ON VIEW dp.datasets IS
    'the datasets that you own or may release from, and what is spent of their budgets';
COMMENT ON COLUMN dp.datasets.name IS 'the name that releases and charges go by';
COMMENT ON COLUMN dp.datasets.owner IS 'the role that declared it';
COMMENT ON COLUMN dp.datasets.entities IS 'the private table';
COMMENT ON COLUMN dp.datasets.groups IS
    'the public table of groups, NULL if the groups are those that occur';
COMMENT ON COLUMN dp.datasets.group_key IS
    'the columns of entities that tell which group a row belongs to';
COMMENT ON COLUMN dp.datasets.hierarchy IS
    'the columns of the levels of regions, from the top down';
COMMENT ON COLUMN dp.datasets.size_column IS
    'the column with sizes or histograms, NULL if rows are counted';
COMMENT ON COLUMN dp.datasets.privacy_unit IS
    'the column that tells whose a row is, NULL if each row is of another one';
COMMENT ON COLUMN dp.datasets.max_rows_per_unit IS 'how many rows of one unit are counted at most';
COMMENT ON COLUMN dp.datasets.epsilon_budget IS 'the epsilon that all releases together may cost';
COMMENT ON COLUMN dp.datasets.epsilon_spent IS 'the epsilon that the releases so far have cost';
COMMENT ON COLUMN dp.datasets.epsilon_left IS 'the epsilon that the next releases may cost';
COMMENT ON COLUMN dp.datasets.delta_budget IS 'the delta that all releases together may cost';
COMMENT ON COLUMN dp.datasets.delta_spent IS 'the delta that the releases so far have cost';
COMMENT ON COLUMN dp.datasets.releases IS 'how many times the budget was charged';
COMMENT ON COLUMN dp.datasets.created_at IS 'when it was declared';
COMMENT ON COLUMN dp.datasets.smallest_charge IS
    'the least epsilon of a release by a role with a grant';
COMMENT ON COLUMN dp.datasets.shares_rows_with IS
    'other datasets with rows of the same private table, whose spent budgets add up';

COMMENT ON COLUMN dp.datasets.leaves IS
    'the table of what dp_count_leaves counts, which releases read, NULL if they count entities';
COMMENT ON COLUMN dp.datasets.counted_at IS 'when dp_count_leaves last counted';

CREATE VIEW dp.grants WITH (security_barrier) AS
    SELECT d.name AS dataset, a.grantee::regrole AS grantee, a.epsilon_limit,
           pg_catalog.trim_scale(a.epsilon_spent) AS epsilon_spent, a.granted_at, a.granted_by,
           a.require_name
      FROM dp.access AS a JOIN dp.dataset AS d ON d.id = a.dataset
     WHERE d.dropped_at IS NULL AND NOT a.revoked
       AND (pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE')
            OR pg_catalog.pg_has_role(dp.role(a.grantee, a.grantee_name), 'USAGE'));
COMMENT ON VIEW dp.grants IS
    'which roles may release from your datasets, up to which epsilon, and what they spent';
COMMENT ON COLUMN dp.grants.dataset IS 'the dataset that the role may release from';
COMMENT ON COLUMN dp.grants.grantee IS 'the role that may';
COMMENT ON COLUMN dp.grants.epsilon_limit IS
    'the epsilon that it may spend in all, NULL for what is left of the budget';
COMMENT ON COLUMN dp.grants.epsilon_spent IS 'the epsilon that it has spent';
COMMENT ON COLUMN dp.grants.granted_at IS 'when it was granted';
COMMENT ON COLUMN dp.grants.granted_by IS 'the role that granted it';
COMMENT ON COLUMN dp.grants.require_name IS 'whether it may make only releases with a name';

CREATE VIEW dp.ledger WITH (security_barrier) AS
    SELECT c.id, c.charged_at AS "when", c.charged_by AS who, d.name AS dataset, c.function,
           c.epsilon, c.delta, c.parameters, c.rho, c.epoch, c.hash
      FROM dp.charge AS c JOIN dp.dataset AS d ON d.id = c.dataset
     WHERE pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE');
COMMENT ON VIEW dp.ledger IS
    'every charge to the budget of a dataset that you own or owned: when, by whom, for what';
COMMENT ON COLUMN dp.ledger.id IS 'the number of the charge: without gaps, over all datasets';
COMMENT ON COLUMN dp.ledger."when" IS 'when it was charged';
COMMENT ON COLUMN dp.ledger.who IS 'the role that asked';
COMMENT ON COLUMN dp.ledger.dataset IS 'the dataset whose budget was charged';
COMMENT ON COLUMN dp.ledger.function IS 'the function that releases';
COMMENT ON COLUMN dp.ledger.epsilon IS 'the epsilon that was charged';
COMMENT ON COLUMN dp.ledger.delta IS 'the delta that was charged';
COMMENT ON COLUMN dp.ledger.parameters IS 'what the mechanism does, and the name of the release';
COMMENT ON COLUMN dp.ledger.rho IS 'the loss in zCDP, which adds up to the second bound';
COMMENT ON COLUMN dp.ledger.epoch IS
    'the life of the ledger: a restore or a promotion starts a new one';
COMMENT ON COLUMN dp.ledger.hash IS
    'of the entry and the one before, which dp_verify_ledger checks';

-- What is stored stays when its dataset is dropped. Drafts are the owner's; of what is retracted
-- nobody sees what follows from its numbers.
CREATE VIEW dp.known_release WITH (security_barrier) AS
    SELECT r.id, r.dataset AS dataset_id, r.dataset_name AS dataset, r.name AS release, r.charge,
           r.released_at, r.parameters,
           CASE WHEN r.status <> 'retracted' THEN r.level_epsilons END AS level_epsilons,
           r.status, r.status_since, r.title, r.description, r.valid, r.publication, d.hierarchy
      FROM dp.release AS r JOIN dp.dataset AS d ON d.id = r.dataset
     WHERE r.released_at IS NOT NULL
       AND (r.status <> 'draft'
            OR pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE'));
COMMENT ON VIEW dp.known_release IS
    'behind the views of stored releases, those that the caller knows of';

CREATE VIEW dp.shown_release WITH (security_barrier) AS
    SELECT r.id, r.dataset, r.release, r.released_at, r.hierarchy
      FROM dp.known_release AS r WHERE r.status <> 'retracted';
COMMENT ON VIEW dp.shown_release IS 'behind the views of released numbers, which of them are shown';

CREATE VIEW dp.releases WITH (security_barrier) AS
    SELECT r.dataset, r.release AS name, r.released_at, c.epsilon, c.delta, r.parameters,
           nullif((SELECT count(*) FROM dp.release_region AS g WHERE g.release = r.id)
                  + (SELECT count(*) FROM dp.release_region_sums AS g WHERE g.release = r.id), 0)
               AS regions,
           r.level_epsilons, c.function, r.status, r.status_since, r.title, r.description, r.valid,
           c.charged_by AS released_by, p.name AS publication
      FROM dp.known_release AS r
      JOIN dp.charge AS c ON c.id = r.charge
      LEFT JOIN dp.publication AS p ON p.id = r.publication;
COMMENT ON VIEW dp.releases IS
    'releases that were stored under a name, with the parameters they were made with';
COMMENT ON COLUMN dp.releases.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.releases.name IS 'the name of the release';
COMMENT ON COLUMN dp.releases.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.releases.epsilon IS 'the epsilon that it cost';
COMMENT ON COLUMN dp.releases.delta IS 'the delta that it cost';
COMMENT ON COLUMN dp.releases.parameters IS 'the arguments that it was asked for with';
COMMENT ON COLUMN dp.releases.regions IS
    'how many regions it has, on all levels, NULL for ranges without regions';
COMMENT ON COLUMN dp.releases.level_epsilons IS
    'what each level was measured with, NULL where it was not, all NULL after a choice of releases';
COMMENT ON COLUMN dp.releases.function IS 'the function that it was released by';
COMMENT ON COLUMN dp.releases.status IS
    'published, draft (which its owner alone sees) or retracted (whose numbers nobody sees)';
COMMENT ON COLUMN dp.releases.status_since IS 'when the status was set last';
COMMENT ON COLUMN dp.releases.title IS 'what its owner calls it for readers';
COMMENT ON COLUMN dp.releases.description IS 'what its owner tells readers of it';
COMMENT ON COLUMN dp.releases.valid IS 'the days that it is about or in force, as its owner says';
COMMENT ON COLUMN dp.releases.released_by IS 'the role that asked for it first, and paid';
COMMENT ON COLUMN dp.releases.publication IS 'the publication that it was made for, if any';

CREATE VIEW dp.release_history WITH (security_barrier) AS
    SELECT r.dataset_name AS dataset, r.name AS release, s.status, s.set_at, s.set_by
      FROM dp.release_status AS s
      JOIN dp.release AS r ON r.id = s.release
      JOIN dp.dataset AS d ON d.id = r.dataset
     WHERE pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE');
COMMENT ON VIEW dp.release_history IS
    'when releases of your datasets were published, made drafts and retracted after they were stored';
COMMENT ON COLUMN dp.release_history.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_history.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_history.status IS 'published, draft or retracted';
COMMENT ON COLUMN dp.release_history.set_at IS 'when that was set';
COMMENT ON COLUMN dp.release_history.set_by IS 'the role that set it';

CREATE VIEW dp.release_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, pg_catalog.cardinality(g.path) AS level, g.path, h.size, h.groups
      FROM dp.shown_release AS r
      JOIN dp.release_region AS g ON g.release = r.id
     CROSS JOIN LATERAL @extschema@.dp_unnest(g.histogram) AS h;
COMMENT ON VIEW dp.release_rows IS 'the rows of all stored releases, for dashboards';
COMMENT ON COLUMN dp.release_rows.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_rows.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_rows.level IS 'the level of the hierarchy, 0 for the root';
COMMENT ON COLUMN dp.release_rows.path IS
    'the names of the region, from the top level down, {} for the root';
COMMENT ON COLUMN dp.release_rows.size IS 'how many entities each of these groups has';
COMMENT ON COLUMN dp.release_rows.groups IS
    'how many groups of that size the region has, one or more';

CREATE VIEW dp.release_measurements WITH (security_barrier) AS
    SELECT r.dataset, r.release, pg_catalog.cardinality(g.path) AS level, g.path,
           CASE WHEN m.first_look THEN 'look_' ELSE '' END || m.kind AS kind,
           m.first_place + v.n - 1 AS place, v.value, m.scale
      FROM dp.shown_release AS r
      JOIN dp.release_measurement AS m ON m.release = r.id
      JOIN dp.release_region AS g ON (g.release, g.n) = (m.release, m.n)
     CROSS JOIN LATERAL pg_catalog.unnest(m."values") WITH ORDINALITY AS v (value, n);
COMMENT ON VIEW dp.release_measurements IS
    'the noisy numbers of stored releases with keep_measurements, as they were measured';
COMMENT ON COLUMN dp.release_measurements.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_measurements.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_measurements.level IS 'the level of the hierarchy, 0 for the root';
COMMENT ON COLUMN dp.release_measurements.path IS
    'the names of the region, from the top level down, {} for the root';
COMMENT ON COLUMN dp.release_measurements.kind IS
    'what is counted: count, column or row, with look_ in front where the first look measured it';
COMMENT ON COLUMN dp.release_measurements.place IS
    'which of the region''s numbers of that kind: from 0 on, of rows from 1 on';
COMMENT ON COLUMN dp.release_measurements.value IS
    'any integer: the exact number and noise n, of a probability in proportion to exp(-|n| / scale)';
COMMENT ON COLUMN dp.release_measurements.scale IS 'of the noise';

-- What a crash, a cancel or an error left half done, and what runs now.
CREATE VIEW dp.unstored_charges WITH (security_barrier) AS
    SELECT d.name AS dataset, r.name, c.id AS charge, c.charged_at, c.charged_by AS who, c.function,
           c.epsilon, c.delta, r.parameters, r.attempts
      FROM dp.release AS r
      JOIN dp.dataset AS d ON d.id = r.dataset
      JOIN dp.charge AS c ON c.id = r.charge
     WHERE d.dropped_at IS NULL AND r.released_at IS NULL
       AND pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE');
COMMENT ON VIEW dp.unstored_charges IS
    'named releases of your datasets that are charged, not stored, and made when asked for again';
COMMENT ON COLUMN dp.unstored_charges.dataset IS 'the dataset whose budget was charged';
COMMENT ON COLUMN dp.unstored_charges.name IS 'the name of the release';
COMMENT ON COLUMN dp.unstored_charges.charge IS 'the id of the charge in dp.ledger';
COMMENT ON COLUMN dp.unstored_charges.charged_at IS 'when it was charged';
COMMENT ON COLUMN dp.unstored_charges.who IS 'the role that asked first';
COMMENT ON COLUMN dp.unstored_charges.function IS 'the function that releases';
COMMENT ON COLUMN dp.unstored_charges.epsilon IS 'the epsilon that was charged, once';
COMMENT ON COLUMN dp.unstored_charges.delta IS 'the delta that was charged, once';
COMMENT ON COLUMN dp.unstored_charges.parameters IS
    'the arguments with which it has to be asked for again';
COMMENT ON COLUMN dp.unstored_charges.attempts IS
    'how often its release was begun, five times at most';

-- How far long functions have come.
CREATE FUNCTION dp.backend_progress()
    RETURNS TABLE (pid int, datid oid, function text, dataset bigint, phase text, level int,
                   levels int, done bigint, total bigint)
    AS 'MODULE_PATHNAME', 'dp_backend_progress_wrapper'
    LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION dp.backend_progress() IS
    'behind the view dp.progress, which explains the columns';

CREATE VIEW dp.progress WITH (security_barrier) AS
    SELECT p.pid, d.datname, p.function, s.name AS dataset, p.phase, p.level, p.levels, p.done,
           p.total, p.done::float8 / p.total AS share
      FROM dp.backend_progress() AS p
      JOIN pg_catalog.pg_database AS d ON d.oid = p.datid
      LEFT JOIN dp.dataset AS s ON s.id = p.dataset AND d.datname = pg_catalog.current_database();
COMMENT ON VIEW dp.progress IS
    'functions of pg_dp that run now, in any database, and how far they have come';
COMMENT ON COLUMN dp.progress.pid IS 'the process of the session, as in pg_stat_activity';
COMMENT ON COLUMN dp.progress.datname IS 'its database';
COMMENT ON COLUMN dp.progress.function IS 'which function runs';
COMMENT ON COLUMN dp.progress.dataset IS
    'the dataset of this database that it releases from, if any';
COMMENT ON COLUMN dp.progress.phase IS
    'checking, planning, simulating, charging, reading, measuring, making consistent or storing';
COMMENT ON COLUMN dp.progress.level IS
    'the (first) level of the hierarchy that is measured now, 0 for the root';
COMMENT ON COLUMN dp.progress.levels IS 'how many levels there are';
COMMENT ON COLUMN dp.progress.done IS
    'how many regions, numbers (in steps of 16,384), or simulated rounds are done';
COMMENT ON COLUMN dp.progress.total IS
    'how many of these the phase has, NULL where that is not known';
COMMENT ON COLUMN dp.progress.share IS 'how much of the phase is done, from 0 to 1';

GRANT SELECT ON
    dp.datasets, dp.grants, dp.ledger, dp.unstored_charges, dp.releases, dp.release_history,
    dp.release_rows, dp.release_measurements, dp.progress
    TO PUBLIC;


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
CREATE VIEW dp.range_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, s.grain, s.lower_bound, s.upper_bound, s.sum, s.stddev,
           s.sum - 1.6448536269514722 * s.stddev AS low,
           s.sum + 1.6448536269514722 * s.stddev AS high
      FROM dp.shown_release AS r JOIN dp.range_answer AS s ON s.release = r.id;
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

CREATE VIEW dp.rectangle_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, s.row_lower, s.row_upper, s.column_lower, s.column_upper, s.sum,
           s.stddev, s.sum - 1.6448536269514722 * s.stddev AS low,
           s.sum + 1.6448536269514722 * s.stddev AS high
      FROM dp.shown_release AS r JOIN dp.release_rectangle AS s ON s.release = r.id;
COMMENT ON VIEW dp.rectangle_rows IS 'the sums of all stored releases of rectangles';
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

CREATE VIEW dp.region_range_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, pg_catalog.cardinality(g.path) AS level,
           coalesce(r.hierarchy[pg_catalog.cardinality(g.path)], 'all') AS level_name,
           g.region, g.path, q.grain, q.lower_bound, q.upper_bound, v.sum, v.stddev,
           v.sum - 1.6448536269514722 * v.stddev AS low,
           v.sum + 1.6448536269514722 * v.stddev AS high
      FROM dp.shown_release AS r
      JOIN dp.release_region_sums AS g ON g.release = r.id
     CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(g.sums), pg_catalog.unnest(g.stddevs))
           WITH ORDINALITY AS v (sum, stddev, n)
      JOIN dp.release_range AS q ON (q.release, q.n) = (r.id, v.n - 1);
COMMENT ON VIEW dp.region_range_rows IS
    'the sums of all stored releases of ranges by region, a row for each region and range';
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

GRANT SELECT ON
    dp.release_histograms, dp.release_regions, dp.release_sizes, dp.range_rows, dp.release_ranges,
    dp.rectangle_rows, dp.region_range_rows
    TO PUBLIC;

-- With the rights of the caller, who owns the view, under a search_path where nothing is theirs.
CREATE FUNCTION dp.create_view(dataset text, view_name text, release text, schema_name text)
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
           AND r.function NOT IN ('dp_region_range_sums', 'dp_stream_create')
        HAVING count(DISTINCT r.parameters ->> 'value_type') = 1;
        IF value_type IS NULL THEN
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
            CASE function WHEN 'dp_region_range_sums'
                 THEN 's.level, s.level_name, s.region, s.path,' ELSE '' END,
            CASE function WHEN 'dp_region_range_sums' THEN 'region_range_rows'
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
-- What can be checked elsewhere: the ledger's chain, and certificates of stored releases ---------

-- The whole chain of hashes is for everyone, so that nobody's entries can be rewritten behind the
-- back of whoever kept one; what an entry says is for the dataset's owner, as in dp.ledger.
CREATE VIEW dp.ledger_chain WITH (security_barrier) AS
    SELECT c.id, pg_catalog.encode(lag(c.hash) OVER (ORDER BY c.id), 'hex') AS previous_hash,
           CASE WHEN pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE')
                THEN dp.charge_entry(c.id, c.epoch, c.charged_at, c.charged_by, c.dataset,
                                     c.function, c.epsilon, c.delta, c.rho, c.parameters, c.nonce)
           END AS entry,
           pg_catalog.encode(c.hash, 'hex') AS hash
      FROM dp.charge AS c JOIN dp.dataset AS d ON d.id = c.dataset;
COMMENT ON VIEW dp.ledger_chain IS
    'the ledger as its hashes are made, with what your own entries say: for a copy elsewhere';
COMMENT ON COLUMN dp.ledger_chain.id IS 'the number of the charge: without gaps, over all datasets';
COMMENT ON COLUMN dp.ledger_chain.previous_hash IS
    'the hash of the entry before in hexadecimal, NULL for the first';
COMMENT ON COLUMN dp.ledger_chain.entry IS
    'what is hashed after it, an array of JSON, NULL where the dataset is not yours';
COMMENT ON COLUMN dp.ledger_chain.hash IS 'SHA-256 of these two in hexadecimal';

CREATE FUNCTION dp.csv(field text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN field ~ '[",\n\r]' THEN '"' || replace(field, '"', '""') || '"' ELSE field END;
COMMENT ON FUNCTION dp.csv(text) IS 'a field of CSV as COPY writes it';

-- The rows of the views of stored releases as COPY writes them, but for floating point: what COPY
-- writes of it depends on extra_float_digits, so here are its bytes in hexadecimal.
CREATE VIEW dp.release_line AS
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
    SELECT g.release, 'path,grain,lower_bound,upper_bound,sum,stddev',
           pg_catalog.format('%s,%s,%s,%s,%s,%s', dp.csv(g.path::text), q.grain, q.lower_bound,
                             q.upper_bound, pg_catalog.encode(pg_catalog.float8send(v.sum), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(v.stddev), 'hex'))
      FROM dp.release_region_sums AS g
     CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(g.sums), pg_catalog.unnest(g.stddevs))
           WITH ORDINALITY AS v (sum, stddev, n)
      JOIN dp.release_range AS q ON (q.release, q.n) = (g.release, v.n - 1)
    UNION ALL -- those so far
    SELECT t.release, 'tick,lower_bound,upper_bound,count,stddev,total,total_stddev',
           pg_catalog.format('%s,%s,%s,%s,%s,%s,%s', t.n, t.lower_bound, t.upper_bound,
                             pg_catalog.encode(pg_catalog.float8send(t.count), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(t.stddev), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(t.total), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(t.total_stddev), 'hex'))
      FROM dp.stream_tick AS t;
COMMENT ON VIEW dp.release_line IS
    'inside of dp.release_certificates: what is hashed of the rows of a release';

-- Nothing in it is more than the release itself tells, its charge, and how its dataset was declared.
-- An optional field is left out where nothing is known.
CREATE VIEW dp.release_certificates WITH (security_barrier) AS
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
                        SELECT s.release, s.path FROM dp.release_region_sums AS s) AS g
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
COMMENT ON VIEW dp.release_certificates IS
    'what stored releases promise, their charge, and a checksum of their rows: see dp_certificate';
COMMENT ON COLUMN dp.release_certificates.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.release_certificates.release IS 'the name of the release';
COMMENT ON COLUMN dp.release_certificates.certificate IS 'what dp_certificate returns, but "total"';

GRANT SELECT ON dp.ledger_chain, dp.release_certificates TO PUBLIC;

CREATE FUNCTION @extschema@.dp_certificate(dataset text, release text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    result jsonb;
BEGIN
    IF dataset IS NULL OR release IS NULL THEN
        RAISE '% must not be NULL', CASE WHEN dataset IS NULL THEN 'dataset' ELSE 'release' END
            USING ERRCODE = 'null_value_not_allowed', HINT = 'Name a stored release.';
    END IF;
    SELECT c.certificate INTO result FROM dp.release_certificates AS c
     WHERE (c.dataset, c.release) = ($1, $2);
    IF NOT FOUND THEN
        RAISE 'release "%" of dataset "%" does not exist', release, dataset
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.releases lists the stored releases.';
    END IF;
    -- what all releases together have cost is for those who may release
    RETURN result || coalesce((
        SELECT jsonb_build_object('total', jsonb_strip_nulls(jsonb_build_object(
                   'at', to_char(statement_timestamp() AT TIME ZONE 'UTC',
                                 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                   'releases', d.releases,
                   'epsilon_budget', d.epsilon_budget, 'epsilon_spent', d.epsilon_spent,
                   'delta_budget', d.delta_budget, 'delta_spent', d.delta_spent,
                   -- others do not see them all
                   'adds_up_with', CASE WHEN pg_has_role(d.owner, 'USAGE')
                                        THEN d.shares_rows_with END)))
          FROM dp.datasets AS d
         WHERE d.name = $1 -- not one that was declared by that name since
           AND d.created_at < (result #>> '{release,charged_at}')::timestamptz), '{}');
END $$;
COMMENT ON FUNCTION @extschema@.dp_certificate(text, text) IS
    'what a stored release promises, its entry of the ledger, and a checksum of its rows';

CREATE FUNCTION @extschema@.dp_certificate_text(dataset text, release text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT format(E'Certificate of release "%s" of dataset "%s"\n\n', p.release ->> 'name',
                  p.release ->> 'dataset')
           || (SELECT string_agg(rpad(line.label, 15) || line.value || E'\n', '' ORDER BY line.n)
                 FROM (VALUES
        (1, 'Hidden', concat(p.unit ->> 'is', ': ' || (p.unit ->> 'column'),
                             ', up to ' || (p.unit ->> 'max_rows_per_unit') || ' are used')),
        (2, 'Promise', format('%s in the %s model, for %s', p.flavour ->> 'definition',
                              p.flavour ->> 'model', p.flavour ->> 'neighbours')),
        (3, 'Loss', format('epsilon %s, delta %s; in zCDP rho %s', p.parameters ->> 'epsilon',
                           p.parameters ->> 'delta', p.parameters ->> 'rho')),
        (4, 'All releases',
         format('%s, which together cost epsilon %s of %s, delta %s of %s', p.total ->> 'releases',
                p.total ->> 'epsilon_spent', p.total ->> 'epsilon_budget',
                p.total ->> 'delta_spent', p.total ->> 'delta_budget')),
        (5, '', 'and add up with those of ' || nullif(p.total ->> 'adds_up_with', '[]')),
        (6, 'Made by', format('%s %s', p.release ->> 'function', p.release ->> 'arguments')),
        (7, 'Mechanism', p.mechanism::text),
        (8, 'Accuracy',
         format('levels were measured with epsilon %s, error bars by %s',
                p.accuracy ->> 'level_epsilons', p.accuracy ->> 'error_bars')),
        (9, 'Public', format('the groups: %s', p.public ->> 'groups')),
        (10, '', format('group key %s, hierarchy %s', p.public ->> 'group_key',
                        p.public ->> 'hierarchy')),
        (11, 'Not protected', p.not_protected),
        (12, 'Charged', format('%s, by %s', p.release ->> 'charged_at',
                               p.release ->> 'charged_by')),
        (13, 'Stored', p.release ->> 'stored_at'),
        (14, 'Software', format('pg_dp %s, PostgreSQL %s', p.implementation ->> 'pg_dp',
                                p.implementation ->> 'postgresql')),
        (15, 'Ledger entry', format('%s, SHA-256 %s', p.ledger ->> 'id', p.ledger ->> 'hash')),
        (16, 'Rows', format('%s, SHA-256 %s', p.rows ->> 'count', p.rows ->> 'sha256'))
                      ) AS line (n, label, value)
                WHERE line.value IS NOT NULL
                  -- what is not known, or not for the caller
                  AND (line.n <> 4 OR p.total IS NOT NULL)
                  AND (line.n <> 8 OR p.accuracy ? 'level_epsilons')
                  AND (line.n <> 16 OR p.rows IS NOT NULL))
      FROM jsonb_to_record(@extschema@.dp_certificate(dataset, release)) AS p (
               release jsonb, flavour jsonb, unit jsonb, parameters jsonb, mechanism jsonb,
               public jsonb, not_protected text, accuracy jsonb, implementation jsonb, ledger jsonb,
               rows jsonb, total jsonb);
END;
COMMENT ON FUNCTION @extschema@.dp_certificate_text(text, text) IS
    'dp_certificate as a page to read';
-- Stored releases as plots -----------------------------------------------------------------------

-- What is called in the extension's schema is given all arguments in their exact types: whoever may
-- create functions there can make none that fits better.
CREATE FUNCTION dp.plot_of_sizes(dataset text, release text, path text[])
    RETURNS TABLE (n bigint, label text, value float8, lower float8, upper float8)
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 25 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    region record;
    largest bigint;
    starts bigint[]; -- of the rows' sizes; the last row ends before the last start
BEGIN
    SELECT r.groups, r.p90 INTO region FROM dp.release_regions AS r
     WHERE (r.dataset, r.release, r.path) = ($1, $2, $3);
    SELECT max(s.size) INTO largest FROM dp.release_rows AS s
     WHERE (s.dataset, s.release, s.path) = ($1, $2, $3);
    IF largest < 25 THEN
        starts := ARRAY(SELECT generate_series(0, largest + 1));
    ELSIF region.p90 < 24 THEN -- single sizes tell of nine groups in ten
        starts := ARRAY(SELECT generate_series(0, 24)) || '{NULL}';
    ELSE -- the bands of dp.release_sizes
        starts := ARRAY(SELECT 0 UNION ALL
                        SELECT f * (10 ^ k)::bigint
                          FROM generate_series(0, 6) AS k, unnest('{1,2,5}'::int[]) AS f
                         WHERE k < 6 OR f = 1 ORDER BY 1) || '{NULL}';
    END IF;

    RETURN QUERY
    WITH bar AS (
        SELECT i.statistic, i.size, i.value, i.lower, i.upper, width_bucket(i.size, b.starts) AS n
          FROM @extschema@.dp_hierarchy_intervals($1, $2, 0.9::float8, false) AS i,
               (SELECT array_remove(starts, NULL) AS starts) AS b
         WHERE i.path = $3
    ), up_to AS ( -- at the largest size of each row that was released
        SELECT DISTINCT ON (b.n) b.n, b.value, b.lower, b.upper
          FROM bar AS b WHERE b.statistic = 'groups_up_to_size' ORDER BY b.n, b.size DESC
    ), up_to_both AS (
        SELECT u.*, coalesce(lag(u.value) OVER by_n, 0) AS value_before,
               coalesce(lag(u.lower) OVER by_n, 0) AS lower_before,
               coalesce(lag(u.upper) OVER by_n, 0) AS upper_before
          FROM up_to AS u WINDOW by_n AS (ORDER BY u.n)
    ), drawn AS (
        SELECT n::bigint, starts[n] AS first, starts[n + 1] - 1 AS last
          FROM generate_series((SELECT min(u.n) FROM up_to AS u),
                               (SELECT max(u.n) FROM up_to AS u)) AS n
    ), numbers AS (
        SELECT d.n, d.first, d.last, coalesce(s.value, u.value - u.value_before, 0) AS value,
               -- a difference of two numbers is off by at most both their bars
               CASE WHEN u.n IS NULL THEN NULL -- a row without a released size
                    ELSE coalesce(s.lower, greatest(u.lower - u.upper_before, 0)) END AS lower,
               CASE WHEN u.n IS NULL THEN NULL
                    ELSE coalesce(s.upper, least(u.upper - u.lower_before, region.groups)) END
               AS upper
          FROM drawn AS d
          LEFT JOIN up_to_both AS u ON u.n = d.n
          LEFT JOIN bar AS s ON s.statistic = 'groups_of_size' AND s.n = d.n AND d.first = d.last
    )
    SELECT m.n, CASE WHEN m.last IS NULL THEN m.first || '+'
                     WHEN m.first = m.last THEN m.first::text
                     ELSE m.first || '-' || m.last END,
           m.value, m.lower, m.upper
      FROM numbers AS m;
END $$;
COMMENT ON FUNCTION dp.plot_of_sizes(text, text, text[]) IS
    'inside of dp_plot: the rows of a histogram, sizes or bands of them';

CREATE FUNCTION @extschema@.dp_plot(
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
                     AND r.function IN ('dp_region_range_sums', 'dp_rectangle_sums')) THEN
        RAISE 'release "%" of dataset "%" is of ranges by region or of rectangles: no plot of these',
              $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The views dp.region_range_rows and dp.rectangle_rows show them.';
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
COMMENT ON FUNCTION @extschema@.dp_plot(text, text, text[], text) IS
    'draws a region or the ranges of a stored release as text, with error bars';

CREATE FUNCTION @extschema@.dp_plot_svg(
        dataset text, release text, path text[] DEFAULT '{}', grain text DEFAULT NULL)
    RETURNS text LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- where the axes are, in a picture of 720 by 400
    edge int;
    top CONSTANT int := 64;
    floor int := 340;
    rows int;
    every int := 1; -- which of the labels are written
    labels text[];
    longest int;
    slot numeric; -- the width of a row
    "values" numeric[];
    lowers numeric[];
    uppers numeric[];
    most numeric;
    step numeric; -- between the marks of the axis of numbers
    marks int;
    title text;
    of_sizes boolean;
    drawn text;
BEGIN
    SELECT count(*), array_agg(p.label ORDER BY p.n), coalesce(max(length(p.label)), 0),
           array_agg(p.value::numeric ORDER BY p.n), array_agg(p.lower::numeric ORDER BY p.n),
           array_agg(p.upper::numeric ORDER BY p.n),
           coalesce(max(coalesce(p.upper, p.value)), 0)::numeric
      INTO rows, labels, longest, "values", lowers, uppers, most
      FROM @extschema@.dp_plot($1, $2, $3, $4)
           WITH ORDINALITY AS p (label, value, lower, upper, plot, n);

    -- 1, 2, 5, 10, ... so that there are five marks at most
    SELECT min(s.n) INTO step
      FROM (SELECT f * 10::numeric ^ k AS n
              FROM unnest('{1,2,5}'::int[]) AS f, generate_series(0, 19) AS k) AS s
     WHERE s.n * 5 >= most;
    marks := greatest(ceil(most / step), 1);
    edge := greatest(50 + 7 * length(to_char(step * marks, 'FM999,999,999,999,999,999,999')),
                     5 * longest);
    slot := (700 - edge) / greatest(rows, 1)::numeric;
    IF slot < 7 * longest + 6 THEN -- they are written aslant
        floor := 346 - 5 * longest;
        every := ceil(22 / slot);
    END IF;

    title := concat_ws(': ', dataset || ', ' || release,
                       (SELECT r.region FROM dp.release_regions AS r
                         WHERE (r.dataset, r.release, r.path) = ($1, $2, $3) AND r.level > 0));
    title := CASE WHEN length(title) > 80 THEN left(title, 79) || '…' ELSE title END;
    -- control characters have no place in XML
    title := regexp_replace(title, '[\x01-\x1f\ufffe\uffff]', ' ', 'g');
    title := replace(replace(replace(title, '&', '&amp;'), '<', '&lt;'), '>', '&gt;');

    of_sizes := EXISTS (SELECT FROM dp.release_regions AS r
                         WHERE (r.dataset, r.release, r.path) = ($1, $2, $3));
    SELECT CASE WHEN of_sizes THEN
               string_agg(concat_ws(E'\n',
                   format('<rect x="%s" y="%s" width="%s" height="%s" fill="#6b9ac4"/>',
                          round(r.x - slot * 0.4, 1), r.value, round(slot * 0.8, 1),
                          floor - r.value),
                   format('<path d="M%s %sV%sm-4 0h8M%s %sh8" stroke="#222" fill="none"/>',
                          r.x, r.lower, r.upper, r.x - 4, r.lower)), E'\n' ORDER BY r.n)
           ELSE concat_ws(E'\n',
               format('<polygon points="%s %s" fill="#c9daea"/>',
                      string_agg(r.x || ',' || r.upper, ' ' ORDER BY r.n),
                      string_agg(r.x || ',' || r.lower, ' ' ORDER BY r.n DESC)),
               format('<polyline points="%s" stroke="#2f6193" stroke-width="1.5" fill="none"/>',
                      string_agg(r.x || ',' || r.value, ' ' ORDER BY r.n))) END
           || E'\n' ||
           string_agg(CASE WHEN slot < 7 * longest + 6
                           THEN format('<text text-anchor="end" transform="translate(%s %s) '
                                       'rotate(-40)">%s</text>', r.x + 4, floor + 14, r.label)
                           ELSE format('<text x="%s" y="%s" text-anchor="middle">%s</text>',
                                       r.x, floor + 18, r.label) END, E'\n' ORDER BY r.n)
               FILTER (WHERE (r.n - 1) % every = 0)
      INTO drawn
      FROM (SELECT b.n, b.label, round(edge + slot * (b.n - 0.5), 1) AS x,
                   round(floor - greatest(b.value, 0) * s.scale, 1) AS value,
                   round(floor - greatest(b.lower, 0) * s.scale, 1) AS lower,
                   round(floor - greatest(b.upper, 0) * s.scale, 1) AS upper
              FROM unnest(labels, "values", lowers, uppers)
                   WITH ORDINALITY AS b (label, value, lower, upper, n),
                   (SELECT (floor - top) / (step * marks) AS scale) AS s) AS r;

    RETURN concat_ws(E'\n',
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" width="720" height="400"'
        ' font-family="sans-serif" font-size="12" fill="#222" role="img">',
        format('<title>%s</title>', title),
        '<rect width="720" height="400" fill="white"/>',
        format('<text x="%s" y="24" font-size="16">%s</text>', edge, title),
        format('<text x="%s" y="44" fill="#666">%s</text>', edge,
               CASE WHEN of_sizes THEN 'Groups by the number of their entities, with 90 % error bars'
                    ELSE 'Rows in each range, with a band of 90 %' END),
        (SELECT string_agg(format(
                    '<path d="M%s %sH700" stroke="%s"/>'
                    '<text x="%s" y="%s" text-anchor="end">%s</text>',
                    edge, m.y, CASE WHEN i = 0 THEN '#222' ELSE '#ddd' END, edge - 8, m.y + 4,
                    to_char(step * i, 'FM999,999,999,999,999,999,990')), E'\n' ORDER BY i)
           FROM generate_series(0, marks) AS i
          CROSS JOIN LATERAL (
            SELECT round(floor - (floor - top) * i / marks::numeric, 1) AS y) AS m),
        drawn,
        format('<text x="%s" y="390" text-anchor="middle">%s</text>', (edge + 700) / 2,
               CASE WHEN of_sizes THEN 'entities in a group' ELSE 'beginning of the range' END),
        format('<text text-anchor="middle" transform="translate(20 %s) rotate(-90)">%s</text>',
               (floor + top) / 2, CASE WHEN of_sizes THEN 'groups' ELSE 'rows' END),
        '</svg>');
END $$;
COMMENT ON FUNCTION @extschema@.dp_plot_svg(text, text, text[], text) IS
    'draws a region or the ranges of a stored release as an SVG picture, with error bars';

-- Publications ----------------------------------------------------------------------------------

-- Between dp.quote_next(true) and dp.quote_next(false) a release goes as far as its charge, which is
-- noted, and ends with an error. So several can be charged together before the first is made.
CREATE FUNCTION dp.quote_start() RETURNS void
    AS 'MODULE_PATHNAME', 'dp_quote_start_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp.quote_start() IS 'inside of dp_publish: forgets what was quoted';

CREATE FUNCTION dp.quote_next(is_next boolean) RETURNS integer
    AS 'MODULE_PATHNAME', 'dp_quote_next_wrapper' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp.quote_next(boolean) IS
    'inside of dp_publish: has the next release quoted, and tells how many were';

CREATE FUNCTION dp.charge_quoted(name text, releases jsonb) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_charge_quoted_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp.charge_quoted(text, jsonb) IS
    'inside of dp_publish: charges all that was quoted, or nothing';

CREATE FUNCTION dp.try_quoted(name text, releases jsonb)
    RETURNS TABLE (epsilon text, problem text)
    AS 'MODULE_PATHNAME', 'dp_try_quoted_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp.try_quoted(text, jsonb) IS
    'inside of dp_publish_check: what charging all that was quoted would come to';

CREATE FUNCTION dp.cost_of_quoted(dataset text)
    RETURNS TABLE (epsilon_exact float8, epsilon_zcdp float8, delta float8, mu float8,
                   epsilons text[], deltas text[])
    AS 'MODULE_PATHNAME', 'dp_cost_of_quoted_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp.cost_of_quoted(text) IS
    'inside of dp_plan_cost: what all that was quoted comes to';

CREATE FUNCTION dp.show_publication(name text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_show_publication_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp.show_publication(text) IS
    'inside of dp_publish: shows a publication, all of whose releases are stored';

-- The type of ranges is that of the column.
CREATE FUNCTION dp.ranges_of(dataset text, value_column text) RETURNS regtype
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    entities regclass := (SELECT d.entities FROM dp.datasets AS d WHERE d.name = dataset);
    of_column regtype;
    result regtype;
BEGIN
    IF entities IS NULL THEN
        RAISE 'dataset "%" does not exist, or you may not release from it', dataset
            USING ERRCODE = 'undefined_object', HINT = 'The view dp.datasets lists the datasets.';
    END IF;
    SELECT a.atttypid INTO of_column
      FROM pg_attribute AS a
     WHERE a.attrelid = entities AND a.attname = value_column AND NOT a.attisdropped;
    SELECT t.ranges INTO result
      FROM (VALUES ('int2'::regtype, 'int8range[]'::regtype),
                   ('int4'::regtype, 'int8range[]'::regtype),
                   ('int8'::regtype, 'int8range[]'::regtype),
                   ('date'::regtype, 'daterange[]'::regtype),
                   ('timestamp'::regtype, 'tsrange[]'::regtype),
                   ('timestamptz'::regtype, 'tstzrange[]'::regtype)) AS t (of, ranges)
     WHERE t.of = of_column;
    IF result IS NULL THEN
        RAISE 'value_column: "%" is no column of integers, dates or times of dataset "%"',
              coalesce(value_column, 'NULL'), dataset
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = format('The columns are those of %s.', entities);
    END IF;
    RETURN result;
END $$;
COMMENT ON FUNCTION dp.ranges_of(text, text) IS
    'inside of dp_publish: the type of ranges that are asked of a column';

-- One of releases as a call with a value for each argument, in the type that the function has.
CREATE FUNCTION dp.release_call(publication text, release jsonb) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    names CONSTANT text[] :=
        '{dp_hierarchy_release,dp_range_sums,dp_region_range_sums,dp_rectangle_sums}';
    called CONSTANT text := coalesce(release ->> 'function', 'dp_hierarchy_release');
    given jsonb;
    range_type regtype;
    function pg_proc;
    argument text;
    value jsonb;
    position integer;
    is_list boolean;
    call text;
BEGIN
    IF jsonb_typeof(release) IS DISTINCT FROM 'object' OR release ->> 'dataset' IS NULL THEN
        RAISE 'releases: % is no object with a dataset', coalesce(release::text, 'NULL')
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Such as [{"dataset": "census", "epsilon": 1}].';
    END IF;
    IF called <> ALL (names) THEN
        RAISE 'releases: function "%" cannot be published', called
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = format('One of %s. What the caller counts the caller has to release.',
                                array_to_string(names, ', '));
    END IF;
    given := jsonb_build_object('name', publication) || jsonb_strip_nulls(release - 'function');

    IF called IN ('dp_range_sums', 'dp_region_range_sums') THEN
        range_type := dp.ranges_of(given ->> 'dataset', given ->> 'value_column');
    END IF;
    SELECT p.* INTO STRICT function
      FROM pg_proc AS p
      JOIN pg_depend AS e ON e.classid = 'pg_proc'::regclass AND e.objid = p.oid
                             AND e.deptype = 'e'
      JOIN pg_extension AS x ON e.refclassid = 'pg_extension'::regclass AND e.refobjid = x.oid
                                AND x.extname = 'pg_dp'
     WHERE p.proname = called AND p.proargnames[1] = 'dataset'
       AND (range_type IS NULL OR p.proargtypes[2] = range_type);

    FOR argument, value IN SELECT * FROM jsonb_each(given) LOOP
        position := array_position(function.proargnames[:function.pronargs], argument);
        IF position IS NULL THEN
            RAISE 'releases: % has no argument "%"', called, argument
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = format('It has %s.', array_to_string(
                                 function.proargnames[:function.pronargs], ', '));
        END IF;
        is_list := (SELECT t.typcategory = 'A' FROM pg_type AS t
                     WHERE t.oid = function.proargtypes[position - 1]);
        IF (jsonb_typeof(value) = 'array') <> is_list OR jsonb_typeof(value) = 'object'
           OR EXISTS (SELECT FROM jsonb_path_query(value, '$[*]') AS e
                       WHERE is_list AND jsonb_typeof(e) IN ('array', 'object'))
        THEN
            RAISE 'releases: "%" must be %, got %', argument,
                  CASE WHEN is_list THEN 'a list of values' ELSE 'one value' END, value
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = 'Values are strings or numbers, a range is a string such as "[0,18)".';
        END IF;
    END LOOP;

    -- All arguments, each in its type: no other function in the extension's schema fits as well.
    SELECT format('SELECT count(*) FROM %s(%s)', function.oid::regproc, string_agg(
               format('CAST(%s AS %s)',
                      CASE WHEN given ? function.proargnames[i.n] THEN quote_nullable(v.value)
                           ELSE coalesce(pg_get_function_arg_default(function.oid, i.n), 'NULL') END,
                      format_type(function.proargtypes[i.n - 1], NULL)),
               ', ' ORDER BY i.n))
      INTO call
      FROM generate_series(1, function.pronargs) AS i (n)
     CROSS JOIN LATERAL (
        SELECT CASE jsonb_typeof(given -> function.proargnames[i.n])
                   WHEN 'array' THEN
                       (SELECT coalesce(array_agg(a.value), '{}')::text
                          FROM jsonb_array_elements_text(
                                   given -> function.proargnames[i.n]) AS a (value))
                   ELSE given ->> function.proargnames[i.n] END
      ) AS v (value);
    RETURN call;
END $$;
COMMENT ON FUNCTION dp.release_call(text, jsonb) IS
    'inside of dp_publish: the call that makes one of its releases';

CREATE FUNCTION dp.listed_releases(publication text, releases jsonb) RETURNS SETOF jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    twice record;
BEGIN
    IF publication IS NULL OR releases IS NULL THEN
        RAISE '% must not be NULL', CASE WHEN publication IS NULL THEN 'name' ELSE 'releases' END
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'Name the publication, and list its releases.';
    END IF;
    IF jsonb_typeof(releases) <> 'array' OR releases = '[]' THEN
        RAISE 'releases must be a list of at least one release'
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Such as [{"dataset": "census", "epsilon": 1}].';
    END IF;
    SELECT r ->> 'dataset' AS dataset, coalesce(r ->> 'name', publication) AS name INTO twice
      FROM jsonb_array_elements(releases) AS r WHERE jsonb_typeof(r) = 'object'
     GROUP BY 1, 2 HAVING count(*) > 1 LIMIT 1;
    IF FOUND THEN
        RAISE 'releases: two of dataset "%" have the name "%"', twice.dataset, twice.name
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'A release without a "name" has that of the publication.';
    END IF;
    RETURN QUERY SELECT * FROM jsonb_array_elements(releases);
END $$;
COMMENT ON FUNCTION dp.listed_releases(text, jsonb) IS
    'inside of dp_publish: the releases of a publication, one by one';

-- What is written is written by workers, which commit: so it does not matter what the caller's
-- transaction is or becomes. What a crash leaves is made by the same call again.
CREATE FUNCTION dp.publish(name text, releases jsonb, draft boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    release jsonb;
    calls text[] := '{}';
    call text;
    before integer;
BEGIN
    IF draft IS NULL THEN
        RAISE 'draft must not be NULL' USING ERRCODE = 'null_value_not_allowed',
            HINT = 'false shows what is published, true makes it for its owner to see.';
    END IF;
    FOR release IN SELECT * FROM dp.listed_releases(name, releases) LOOP
        calls := calls || dp.release_call(name, release);
    END LOOP;
    PERFORM dp.quote_start();
    FOREACH call IN ARRAY calls LOOP
        before := dp.quote_next(true);
        BEGIN
            EXECUTE call;
        EXCEPTION WHEN OTHERS THEN
            IF dp.quote_next(false) = before THEN
                RAISE;
            END IF;
        END;
    END LOOP;
    PERFORM dp.charge_quoted(name, releases);
    FOREACH call IN ARRAY calls LOOP
        EXECUTE call;
    END LOOP;
    IF draft THEN
        RETURN;
    END IF;
    IF NOT dp.show_publication(name) THEN
        RAISE 'publication "%" is not complete: a release of it is not stored', name
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Call dp_publish again: what is charged is not charged again.';
    END IF;
    -- its owner may have made a draft of what was published before
    FOR release IN
        SELECT r.release FROM jsonb_array_elements(releases) AS r (release)
         WHERE EXISTS (
            SELECT FROM dp.releases AS s
             WHERE (s.dataset, s.name) = (r.release ->> 'dataset',
                                          coalesce(r.release ->> 'name', publish.name))
               AND s.status = 'draft')
    LOOP
        RAISE NOTICE 'release "%" of dataset "%" is a draft', coalesce(release ->> 'name', name),
                     release ->> 'dataset'
            USING HINT = 'Its owner publishes it with dp_set_status.';
    END LOOP;
END $$;
COMMENT ON FUNCTION dp.publish(text, jsonb, boolean) IS 'inside of dp_publish';

-- Its body was read when it was made: no search_path of the caller's changes what it means.
CREATE PROCEDURE @extschema@.dp_publish(name text, releases jsonb, draft boolean DEFAULT false)
    LANGUAGE sql
BEGIN ATOMIC
    SELECT dp.publish(name, releases, draft);
END;
COMMENT ON PROCEDURE @extschema@.dp_publish(text, jsonb, boolean) IS
    'makes several releases, all or none, charged together and shown together';

CREATE FUNCTION @extschema@.dp_publish_check(name text, releases jsonb)
    RETURNS TABLE (dataset text, epsilon float8, epsilon_left float8, already_stored boolean,
                   problem text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    release jsonb;
    quotes integer[] := '{}'; -- which quote is that of each release
    problems text[] := '{}';
    before integer;
    quoted integer;
BEGIN
    PERFORM dp.quote_start();
    FOR release IN SELECT * FROM dp.listed_releases(name, releases) LOOP
        problem := NULL;
        before := dp.quote_next(true);
        BEGIN
            EXECUTE dp.release_call(name, release);
            quoted := dp.quote_next(false);
        EXCEPTION WHEN OTHERS THEN
            quoted := dp.quote_next(false);
            IF quoted = before THEN
                problem := sqlerrm;
            END IF;
        END;
        quotes := quotes || CASE WHEN quoted > before THEN quoted END;
        problems := problems || problem;
    END LOOP;
    RETURN QUERY
        WITH tried AS MATERIALIZED (
            SELECT * FROM dp.try_quoted(name, releases) WITH ORDINALITY AS t (epsilon, problem, n)
        )
        SELECT r.release ->> 'dataset', coalesce(t.epsilon::float8, 0),
               (SELECT d.epsilon_left FROM dp.datasets AS d
                 WHERE d.name = r.release ->> 'dataset')::float8,
               quotes[r.n] IS NULL AND problems[r.n] IS NULL, coalesce(problems[r.n], t.problem)
          FROM jsonb_array_elements(releases) WITH ORDINALITY AS r (release, n)
          LEFT JOIN tried AS t ON t.n = quotes[r.n]
         ORDER BY r.n;
END $$;
COMMENT ON FUNCTION @extschema@.dp_publish_check(text, jsonb) IS
    'what dp_publish would charge for each release, and what stands against it, for nothing';

-- Each release has a name that nothing has: so those that are stored are quoted, too.
CREATE FUNCTION @extschema@.dp_plan_cost(dataset text, releases jsonb)
    RETURNS TABLE (epsilon_exact float8, epsilon_zcdp float8, epsilon_sum float8, delta float8,
                   mu float8)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    of_dataset CONSTANT jsonb := jsonb_build_object('dataset', dataset);
    named jsonb := releases;
    release jsonb;
    before integer;
BEGIN
    IF dataset IS NULL THEN
        RAISE 'dataset must not be NULL' USING ERRCODE = 'null_value_not_allowed',
            HINT = 'The view dp.datasets lists the datasets.';
    END IF;
    IF jsonb_typeof(releases) = 'array' THEN
        SELECT coalesce(jsonb_agg(
                   CASE jsonb_typeof(r.release) WHEN 'object' THEN
                       of_dataset || r.release || jsonb_build_object('name', gen_random_uuid())
                   ELSE r.release END ORDER BY r.n), '[]')
          INTO named
          FROM jsonb_array_elements(releases) WITH ORDINALITY AS r (release, n);
    END IF;
    PERFORM dp.quote_start();
    FOR release IN SELECT * FROM dp.listed_releases('a plan', named) LOOP
        IF release ->> 'dataset' <> dataset THEN
            RAISE 'releases: one is of dataset "%", not "%"', release ->> 'dataset', dataset
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = 'Each dataset has its own budget: ask for one at a time.';
        END IF;
        before := dp.quote_next(true);
        BEGIN
            EXECUTE dp.release_call('a plan', release);
        EXCEPTION WHEN OTHERS THEN
            IF dp.quote_next(false) = before THEN
                RAISE;
            END IF;
        END;
    END LOOP;
    RETURN QUERY
        SELECT least(c.epsilon_exact, s.epsilon_sum), c.epsilon_zcdp, s.epsilon_sum, c.delta, c.mu
          FROM dp.cost_of_quoted(dataset) AS c
         CROSS JOIN LATERAL (
            SELECT CASE WHEN sum(e.delta::numeric) <= c.delta::numeric
                        THEN sum(e.epsilon::numeric)::float8 END AS epsilon_sum
              FROM unnest(c.epsilons, c.deltas) AS e (epsilon, delta)
         ) AS s;
END $$;
COMMENT ON FUNCTION @extschema@.dp_plan_cost(text, jsonb) IS
    'what releases that are all settled beforehand cost together, exactly and by bounds';

CREATE VIEW dp.publications WITH (security_barrier) AS
    SELECT p.name, p.made_by_name AS made_by, p.made_at, p.published_at, p.releases
      FROM dp.publication AS p
     WHERE p.published_at IS NOT NULL
           OR pg_catalog.pg_has_role(dp.role(p.made_by, p.made_by_name), 'USAGE');
COMMENT ON VIEW dp.publications IS
    'what was published by dp_publish, and of your own what is not complete yet';
COMMENT ON COLUMN dp.publications.name IS 'its name, which is one for each role';
COMMENT ON COLUMN dp.publications.made_by IS 'the role that called dp_publish';
COMMENT ON COLUMN dp.publications.made_at IS 'when it was charged';
COMMENT ON COLUMN dp.publications.published_at IS
    'since when its releases are shown, NULL while one is not stored';
COMMENT ON COLUMN dp.publications.releases IS 'its releases, as they were asked for';
GRANT SELECT ON dp.publications TO PUBLIC;

-- What streams have released ----------------------------------------------------------------------

CREATE VIEW dp.streams WITH (security_barrier) AS
    SELECT r.dataset, r.release AS stream, s.time_column, s.value_type, s.start_at,
           pg_catalog.justify_hours(s.width * interval '1 microsecond') AS bin_width,
           s.time_zone, s.horizon,
           (SELECT coalesce(max(t.n) + 1, 0) FROM dp.stream_tick AS t WHERE t.release = r.id)
               AS ticks,
           c.epsilon, c.delta, r.released_at AS created_at
      FROM dp.shown_release AS r
      JOIN dp.stream AS s ON s.release = r.id
      JOIN dp.release AS n ON n.id = r.id
      JOIN dp.charge AS c ON c.id = n.charge;
COMMENT ON VIEW dp.streams IS 'counters that are released tick by tick';
COMMENT ON COLUMN dp.streams.dataset IS 'the dataset that it is released from';
COMMENT ON COLUMN dp.streams.stream IS 'the name of the stream, as a release';
COMMENT ON COLUMN dp.streams.time_column IS 'the column by which a row is in a tick';
COMMENT ON COLUMN dp.streams.value_type IS 'its type: date, timestamp or timestamptz';
COMMENT ON COLUMN dp.streams.start_at IS
    'where tick 0 begins, in ISO 8601 with times with a zone in UTC';
COMMENT ON COLUMN dp.streams.bin_width IS 'how long a tick is';
COMMENT ON COLUMN dp.streams.time_zone IS
    'by whose clock ticks end where the column has no zone, else NULL';
COMMENT ON COLUMN dp.streams.horizon IS 'the most ticks that there will be';
COMMENT ON COLUMN dp.streams.ticks IS 'how many there are so far';
COMMENT ON COLUMN dp.streams.epsilon IS 'the epsilon that all of them together cost';
COMMENT ON COLUMN dp.streams.delta IS 'the delta that all of them together cost';
COMMENT ON COLUMN dp.streams.created_at IS 'when it was begun';

CREATE VIEW dp.stream_ticks WITH (security_barrier) AS
    SELECT r.dataset, r.release AS stream, t.n AS tick, t.lower_bound, t.upper_bound, t.count,
           t.stddev, t.total, t.total_stddev,
           -- with more of it everybody could time each call, long after it
           pg_catalog.date_trunc('minute', t.released_at) AS released_at
      FROM dp.shown_release AS r JOIN dp.stream_tick AS t ON t.release = r.id;
COMMENT ON VIEW dp.stream_ticks IS 'the ticks of all streams so far, as they were released';
COMMENT ON COLUMN dp.stream_ticks.dataset IS 'the dataset that it is released from';
COMMENT ON COLUMN dp.stream_ticks.stream IS 'the name of the stream';
COMMENT ON COLUMN dp.stream_ticks.tick IS 'the number of the tick, from 0 on';
COMMENT ON COLUMN dp.stream_ticks.lower_bound IS
    'where it begins, in ISO 8601 with times with a zone in UTC';
COMMENT ON COLUMN dp.stream_ticks.upper_bound IS 'where it ends, which is not a part of it any more';
COMMENT ON COLUMN dp.stream_ticks.count IS 'how many rows there are in the tick';
COMMENT ON COLUMN dp.stream_ticks.stddev IS 'the standard deviation of its noise, exact';
COMMENT ON COLUMN dp.stream_ticks.total IS 'how many rows there are in this tick and all before';
COMMENT ON COLUMN dp.stream_ticks.total_stddev IS 'the standard deviation of its noise, exact';
COMMENT ON COLUMN dp.stream_ticks.released_at IS 'when it was stored, to the minute';

GRANT SELECT ON dp.streams, dp.stream_ticks TO PUBLIC;
-- Ways around pg_dp -----------------------------------------------------------------------------

-- dp_check_privileges tells by which privileges a role could learn about private rows. It is the
-- union of three views: what a role is (check_memberships), owns (check_owners) and was granted
-- (check_grants). Nearly everything that leads to private rows has an owner and a list of grants,
-- so all of it is brought into one form first (check_objects).
--
-- Everybody may read the views, as dp_check_privileges does for its caller: all but the first one
-- read with the rights of whoever asks (security_invoker), and so show nothing that PostgreSQL's
-- catalog does not. They are about the datasets of one's own. Where dataset is NULL, it concerns
-- every one.
--
-- Listed are functions rather than the views over them (pg_stat_all_tables, pg_locks, ...): whoever
-- queries a view needs the privilege on the functions in it. Not listed is what opens nothing:
-- BYPASSRLS (datasets have no row-level security), pg_signal_backend, pg_checkpoint, and the
-- functions of pageinspect, pgrowlocks and pg_prewarm, which check for themselves whom they serve.
-- Nor what nothing closes: the numbers of transactions and of new objects, which show in every row
-- and object that a role makes.
--
-- Every remedy can be executed as it is; where no statement helps it is a comment. What was revoked
-- from PUBLIC can be granted to the roles that need it, such as pg_monitor.

-- With the rights of its owner, as dp.datasets, of which it shows a part, and without the budgets,
-- whose sums would take most of the time here.
CREATE VIEW dp.check_datasets WITH (security_barrier) AS
    SELECT d.name AS dataset, d.owner, d.entities, d.groups, d.leaves
      FROM dp.dataset AS d
     WHERE d.dropped_at IS NULL AND pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE')
       AND pg_catalog.pg_has_role(d.owner, 'USAGE');
COMMENT ON VIEW dp.check_datasets IS 'inside of dp_check_privileges: your datasets';


-- Roles: whose rights one has or can take.

-- MEMBER, not USAGE: who does not inherit can SET ROLE, and who only administers a membership can
-- grant it to itself in full. To a superuser everything is open; a list of it all would only hide
-- that.
CREATE VIEW dp.check_roles WITH (security_invoker) AS
    SELECT m.oid AS role, r.oid AS reached, r.oid::regrole::text AS name,
           r.rolsuper, r.rolcreaterole, r.rolreplication,
           CASE WHEN r.oid <> m.oid THEN coalesce(
               (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.format(
                           'REVOKE %s FROM %s%s', a.roleid::regrole, m.oid::regrole,
                           CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 160000
                                THEN ' GRANTED BY ' || a.grantor::regrole END), '; ')
                  FROM pg_catalog.pg_auth_members AS a
                 WHERE a.member = m.oid AND pg_catalog.pg_has_role(a.roleid, r.oid, 'MEMBER')),
               -- pg_database_owner
               '-- the owner of the database is a member: give the database another owner')
           END AS leave
      FROM pg_catalog.pg_roles AS m
      JOIN pg_catalog.pg_roles AS r ON pg_catalog.pg_has_role(m.oid, r.oid, 'MEMBER')
     WHERE NOT m.rolsuper;
COMMENT ON VIEW dp.check_roles IS
    'inside of dp_check_privileges: whose rights a role has or can take, and what ends that';

CREATE VIEW dp.check_predefined (name, power) WITH (security_invoker) AS VALUES
    ('pg_read_all_data', 'reads every table'),
    ('pg_write_all_data', 'writes every table, also the ledger'),
    ('pg_read_all_stats', 'sees the statements of other sessions'),
    ('pg_monitor', 'sees the sizes of temporary files'),
    ('pg_stat_scan_tables', 'may use extensions that count rows'),
    ('pg_read_server_files', 'reads the files of the server'),
    ('pg_write_server_files', 'writes the files of the server'),
    ('pg_execute_server_program', 'runs programs as the server'),
    ('pg_maintain', 'may VACUUM VERBOSE, which counts rows');
COMMENT ON VIEW dp.check_predefined IS
    'inside of dp_check_privileges: predefined roles whose members learn about rows';

CREATE VIEW dp.check_grantees (role, grantee, name) WITH (security_invoker) AS
    SELECT r.oid, 0::oid, 'PUBLIC' FROM pg_catalog.pg_roles AS r WHERE NOT r.rolsuper
    UNION ALL -- what superusers and predefined roles hold is reported as membership in them
    SELECT r.role, r.reached, r.name
      FROM dp.check_roles AS r
     WHERE NOT r.rolsuper AND r.name NOT IN (SELECT p.name FROM dp.check_predefined AS p);
COMMENT ON VIEW dp.check_grantees IS
    'inside of dp_check_privileges: through whose grants a role has privileges';

CREATE VIEW dp.check_memberships (role, dataset, hole, object, remedy) WITH (security_invoker) AS
    SELECT r.oid, d.dataset, 'superuser', r.oid::regrole::text,
           pg_catalog.format('ALTER ROLE %s NOSUPERUSER', r.oid::regrole)
      FROM dp.check_datasets AS d CROSS JOIN pg_catalog.pg_roles AS r
     WHERE r.rolsuper
    UNION ALL
    SELECT r.oid, d.dataset, 'owner of the dataset', r.oid::regrole::text,
           '-- it declared the dataset: have a role do that which no analyst is a member of'
      FROM dp.check_datasets AS d JOIN pg_catalog.pg_roles AS r ON r.oid = d.owner
     WHERE NOT r.rolsuper
    UNION ALL
    SELECT r.role, d.dataset, 'member of the owner of the dataset', r.name, r.leave
      FROM dp.check_datasets AS d
      JOIN dp.check_roles AS r ON r.reached = d.owner AND r.role <> d.owner
    UNION ALL
    SELECT r.role, d.dataset, pg_catalog.format('member of %s, which %s', r.name, p.power),
           r.name, r.leave
      FROM dp.check_datasets AS d
      JOIN dp.check_roles AS r ON r.role <> d.owner
      JOIN dp.check_predefined AS p ON p.name = r.name
    UNION ALL -- attributes are not inherited, but SET ROLE leads to them
    SELECT r.role, d.dataset, a.hole, r.name,
           coalesce(r.leave, pg_catalog.format('ALTER ROLE %s %s', r.name, a.change))
      FROM dp.check_datasets AS d
      JOIN dp.check_roles AS r ON r.role <> d.owner
     CROSS JOIN LATERAL (VALUES
        ('member of a superuser', r.rolsuper, NULL),
        ('REPLICATION, which copies the whole server',
         r.rolreplication AND NOT r.rolsuper, 'NOREPLICATION'),
        ('CREATEROLE, which before PostgreSQL 16 can give itself any role that is no superuser',
         r.rolcreaterole AND NOT r.rolsuper
         AND pg_catalog.current_setting('server_version_num')::int < 160000, 'NOCREATEROLE')
      ) AS a (hole, applies, change)
     WHERE a.applies;
COMMENT ON VIEW dp.check_memberships IS
    'inside of dp_check_privileges: roles that are, or can become, one that learns about rows';


-- Relations with private rows, and what belongs to them.

CREATE VIEW dp.check_invoker_views WITH (security_invoker) AS
    SELECT c.oid
      FROM pg_catalog.pg_class AS c
     CROSS JOIN LATERAL pg_catalog.pg_options_to_table(c.reloptions) AS o
     WHERE c.relkind = 'v'
       AND CASE o.option_name WHEN 'security_invoker' THEN o.option_value::boolean END;
COMMENT ON VIEW dp.check_invoker_views IS
    'inside of dp_check_privileges: views that read with the rights of their reader';

-- part: 1 the declared table, 2 its partitions and children, 3 what it was made from if it is a
-- materialized view; and 4 what reads from these: parents, views, materialized views. In PL/pgSQL,
-- which keeps the plan: many views need it.
CREATE FUNCTION dp.private_relations(entities oid, groups oid) RETURNS TABLE (relid oid, part int)
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE reach (relid, part) AS (
        VALUES ($1, 1)
        UNION
        SELECT next.relid, next.part
          FROM reach AS r CROSS JOIN LATERAL (
            SELECT i.inhrelid, greatest(r.part, 2)
              FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = r.relid AND r.part < 4
            UNION ALL
            SELECT i.inhparent, 4 FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = r.relid
            UNION ALL
            -- a view reads with the rights of its owner, who may have none, or of its reader
            SELECT v.oid, 4
              FROM pg_catalog.pg_depend AS e
              JOIN pg_catalog.pg_rewrite AS w
                   ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid
                   AND w.ev_type = '1'
              JOIN pg_catalog.pg_class AS v ON v.oid = w.ev_class AND v.oid <> r.relid
             WHERE e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = r.relid
               AND (v.relkind = 'm'
                    OR EXISTS (SELECT FROM dp.check_invoker_views AS i WHERE i.oid = v.oid)
                    OR pg_catalog.has_any_column_privilege(v.relowner, r.relid, 'SELECT'))
            UNION ALL
            SELECT e.refobjid, 3
              FROM pg_catalog.pg_rewrite AS w
              JOIN pg_catalog.pg_depend AS e
                   ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid
             WHERE w.ev_class = r.relid AND w.ev_type = '1' AND r.part < 4
               AND e.refclassid = 'pg_catalog.pg_class'::regclass
               AND e.refobjid <> r.relid AND e.refobjid IS DISTINCT FROM $2
        ) AS next (relid, part)
    )
    SELECT r.relid, min(r.part)
      FROM reach AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.relid
     GROUP BY r.relid;
END $$;
COMMENT ON FUNCTION dp.private_relations(oid, oid) IS
    'inside of dp_check_privileges: the relations with rows of a private table, or that read them';

CREATE VIEW dp.check_private WITH (security_invoker) AS
    SELECT d.dataset, p.relid, min(p.part) AS part
      FROM dp.check_datasets AS d
     CROSS JOIN LATERAL (SELECT * FROM dp.private_relations(d.entities, d.groups)
                         UNION ALL SELECT * FROM dp.private_relations(d.leaves, NULL)) AS p
     GROUP BY d.dataset, p.relid;
COMMENT ON VIEW dp.check_private IS
    'inside of dp_check_privileges: the relations with private rows, or that read them';

CREATE VIEW dp.check_column_types WITH (security_invoker) AS
    WITH RECURSIVE column_type (dataset, typid) AS (
        SELECT p.dataset, a.atttypid
          FROM dp.check_private AS p JOIN pg_catalog.pg_attribute AS a ON a.attrelid = p.relid
        UNION
        SELECT c.dataset, part
          FROM column_type AS c
          JOIN pg_catalog.pg_type AS t ON t.oid = c.typid
         CROSS JOIN LATERAL pg_catalog.unnest(ARRAY[t.typelem, t.typbasetype]) AS part
         WHERE part <> 0
    )
    TABLE column_type;
COMMENT ON VIEW dp.check_column_types IS
    'inside of dp_check_privileges: types of columns with private rows, and what these are made of';

-- Functions called by triggers, defaults, checks, indexes, rules and partition keys; sequences,
-- domains, foreign servers.
CREATE VIEW dp.check_used WITH (security_invoker) AS
    WITH private AS MATERIALIZED (
        TABLE dp.check_private
    ), belonging (dataset, classid, objid) AS (
        SELECT p.dataset, 'pg_catalog.pg_class'::regclass::oid, p.relid FROM private AS p
        UNION
        SELECT p.dataset, e.classid, e.objid
          FROM private AS p
          JOIN pg_catalog.pg_depend AS e
               ON e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = p.relid
        UNION
        SELECT t.dataset, e.classid, e.objid
          FROM dp.check_column_types AS t
          JOIN pg_catalog.pg_depend AS e
               ON e.refclassid = 'pg_catalog.pg_type'::regclass AND e.refobjid = t.typid
         WHERE e.classid = 'pg_catalog.pg_constraint'::regclass
    )
    TABLE belonging
    UNION
    SELECT b.dataset, e.refclassid, e.refobjid
      FROM belonging AS b
      JOIN pg_catalog.pg_depend AS e ON e.classid = b.classid AND e.objid = b.objid;
COMMENT ON VIEW dp.check_used IS
    'inside of dp_check_privileges: what sees private rows or counts them';

CREATE VIEW dp.check_referred WITH (security_invoker) AS
    WITH RECURSIVE referred (dataset, relid) AS (
        SELECT p.dataset, k.confrelid
          FROM dp.check_private AS p
          JOIN pg_catalog.pg_constraint AS k ON k.conrelid = p.relid AND k.contype = 'f'
         WHERE p.part < 4 AND k.conrelid <> k.confrelid
        UNION
        SELECT r.dataset, i.inhparent
          FROM referred AS r JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = r.relid
    )
    TABLE referred;
COMMENT ON VIEW dp.check_referred IS
    'inside of dp_check_privileges: what foreign keys of private tables refer to, and its parents';


-- What tells something, to its owner (if for_owner) or to whoever has one of the privileges (NULL:
-- any).

-- Besides SELECT: INSERT and UPDATE meet constraints, REFERENCES makes one, UPDATE and DELETE count
-- rows, a TRIGGER sees them, MAINTAIN allows VACUUM VERBOSE. Owning a view opens nothing.
CREATE VIEW dp.check_relations (dataset, what, relid, privileges, for_owner)
    WITH (security_invoker) AS
    WITH private AS MATERIALIZED (
        TABLE dp.check_private
    ), referred AS MATERIALIZED (
        TABLE dp.check_referred
    )
    SELECT p.dataset,
           (ARRAY['the private table', 'a part of the private table',
                  'a source of the private table',
                  'a relation that reads the private table'])[p.part],
           p.relid, NULL::text[], c.relkind <> 'v'
      FROM private AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.relid
     WHERE c.oid NOT IN (SELECT i.oid FROM dp.check_invoker_views AS i)
    UNION ALL -- a sequence that a column owns has the owner of the table
    SELECT u.dataset, 'a sequence of the private table', c.oid, NULL,
           NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS e
                        WHERE e.classid = 'pg_catalog.pg_class'::regclass AND e.objid = c.oid
                          AND e.refclassid = 'pg_catalog.pg_class'::regclass
                          AND e.deptype IN ('a', 'i'))
      FROM dp.check_used AS u
      JOIN pg_catalog.pg_class AS c
           ON u.classid = 'pg_catalog.pg_class'::regclass AND c.oid = u.objid AND c.relkind = 'S'
    UNION ALL -- errors of a foreign key tell whether a key occurs
    SELECT p.dataset, 'a table whose foreign key refers to the private table', k.conrelid,
           ARRAY['INSERT', 'UPDATE'], true
      FROM private AS p
      JOIN pg_catalog.pg_constraint AS k ON k.confrelid = p.relid AND k.contype = 'f'
     WHERE p.part < 4 AND k.conrelid <> k.confrelid
    UNION ALL
    SELECT r.dataset, 'a table that the private table refers to', r.relid,
           ARRAY['UPDATE', 'DELETE'], true
      FROM referred AS r
    UNION ALL -- see check_columns; a view reads it with the rights of its owner
    SELECT r.dataset, 'a view of xmax of a table that the private table refers to', w.ev_class,
           ARRAY['SELECT'], false
      FROM referred AS r
      JOIN pg_catalog.pg_depend AS e
           ON e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = r.relid
      JOIN pg_catalog.pg_attribute AS a
           ON a.attrelid = r.relid AND a.attnum = e.refobjsubid AND a.attname = 'xmax'
      JOIN pg_catalog.pg_rewrite AS w
           ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid AND w.ev_type = '1'
    UNION ALL -- a rule acts with the rights of the owner of its relation
    SELECT p.dataset, 'a relation with a rule that uses the private table', w.ev_class,
           ARRAY[CASE w.ev_type WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END],
           true
      FROM private AS p
      JOIN pg_catalog.pg_depend AS e
           ON e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = p.relid
      JOIN pg_catalog.pg_rewrite AS w
           ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid AND w.ev_type <> '1'
     WHERE w.ev_class <> p.relid
    UNION ALL
    SELECT NULL, 'the ledger', c.oid,
           ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER'], true
      FROM pg_catalog.pg_class AS c
     WHERE c.relnamespace = 'dp'::regnamespace AND c.relkind = 'r'
    UNION ALL
    SELECT NULL,
           CASE WHEN s.part < 4 THEN 'the exact counts of streams'
                ELSE 'a relation that reads the exact counts of streams' END,
           s.relid, ARRAY['SELECT'], c.relkind <> 'v'
      FROM dp.private_relations('dp.stream_count'::regclass, NULL) AS s
      JOIN pg_catalog.pg_class AS c ON c.oid = s.relid
     WHERE c.oid NOT IN (SELECT i.oid FROM dp.check_invoker_views AS i)
    UNION ALL
    -- values and histograms; the view pg_stats shows them to those who may read the column
    SELECT NULL, 'the statistics of the planner', s.relid, ARRAY['SELECT'], false
      FROM (VALUES ('pg_catalog.pg_statistic'::regclass), ('pg_catalog.pg_statistic_ext_data'))
           AS s (relid)
    UNION ALL
    -- these show them to the owner of the table, unless the cluster is of before 15.7 or 16.3
    SELECT p.dataset, 'extended statistics that everybody sees here (CVE-2024-4317)', v.relid,
           ARRAY['SELECT'], false
      FROM private AS p
      JOIN pg_catalog.pg_statistic_ext AS x ON x.stxrelid = p.relid
     CROSS JOIN (VALUES ('pg_catalog.pg_stats_ext'::regclass), ('pg_catalog.pg_stats_ext_exprs'))
                AS v (relid)
     WHERE pg_catalog.pg_get_viewdef(v.relid) NOT LIKE '%pg_has_role(c.relowner%';
COMMENT ON VIEW dp.check_relations IS
    'inside of dp_check_privileges: relations that tell something about private rows';

CREATE VIEW dp.check_columns (dataset, what, relid, columns) WITH (security_invoker) AS
    -- the last two move when autovacuum found enough changes
    SELECT NULL, 'the row and page counts of all relations', 'pg_catalog.pg_class'::regclass::oid,
           '^rel(tuples|pages|all|frozenxid|minmxid)'
    UNION ALL
    -- whoever inserts a row locks the one that it refers to, and leaves its transaction there
    SELECT r.dataset,
           'a table that the private table refers to, '
           'where xmax tells which rows new ones refer to',
           r.relid, '^xmax$'
      FROM dp.check_referred AS r;
COMMENT ON VIEW dp.check_columns IS
    'inside of dp_check_privileges: columns that tell something, of relations that may be read';

-- By what they return: any number from the statistics, any position in the write-ahead log that is
-- not computed from the arguments. But some check for themselves whom they serve, those of
-- replication slots too, and some number the sessions themselves.
CREATE VIEW dp.check_server_functions WITH (security_invoker) AS
    SELECT f.what, f.proc FROM (
        SELECT CASE
               WHEN p.proname ~ '^pg_stat_get_(activity|progress_info|wal_receiver|wal_senders)$'
                    OR p.proname ~ '^pg_stat_get_backend_(pid|idset|client_port)$' THEN NULL
               WHEN p.proargtypes = '26' AND p.proname ~ '^pg_stat_get_(?!db_|subscription)'
                   THEN 'a function that counts the rows of a table, or scans and changes of it'
               WHEN p.proname ~ '^pg_stat_get_'
                    AND (p.proargtypes = '26'
                         OR p.prorettype || p.proallargtypes
                            && '{int4,int8,float8,numeric}'::regtype[]::oid[])
                    OR p.proname = 'pg_notification_queue_usage'
                   THEN 'a function that counts what the sessions read, write and do'
               WHEN p.proname = 'pg_wal_summary_contents'
                   THEN 'a function that tells which pages were changed'
               WHEN p.provolatile <> 'i'
                    AND 'pg_lsn'::regtype = ANY (p.prorettype || p.proallargtypes)
                    AND p.proname !~ '_slot(_|$)'
                    -- when the last checkpoint was, which much writing brings on
                    OR p.proname = 'pg_control_system'
                   THEN 'a function that tells how much was written'
               WHEN p.proname ~ '^pg_((total_)?relation|table|indexes|database|tablespace)_size$'
                   THEN 'a function that tells sizes'
               WHEN p.proname = 'pg_lock_status'
                   THEN 'a function that tells which rows and pages are locked'
               WHEN p.proname ~ '_blocking_pids$|_session_is_blocked$'
                   THEN 'a function that tells which sessions wait for each other'
               WHEN p.proname IN ('pg_read_file', 'pg_read_binary_file', 'pg_stat_file',
                                  'pg_ls_dir', 'pg_ls_tmpdir', 'lo_import', 'lo_export')
                   THEN 'a function that uses the files of the server'
               END AS what, p.oid AS proc
          FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace
    ) AS f
     WHERE f.what IS NOT NULL;
COMMENT ON VIEW dp.check_server_functions IS
    'inside of dp_check_privileges: functions of PostgreSQL that tell something about private rows';

CREATE VIEW dp.check_installed WITH (security_invoker) AS
    SELECT x.extname AS extension, p.oid AS proc, p.proname, p.proargtypes, p.prorettype,
           p.provolatile
      FROM pg_catalog.pg_extension AS x
      JOIN pg_catalog.pg_depend AS e
           ON e.refclassid = 'pg_catalog.pg_extension'::regclass AND e.refobjid = x.oid
           AND e.deptype = 'e'
      JOIN pg_catalog.pg_proc AS p
           ON e.classid = 'pg_catalog.pg_proc'::regclass AND p.oid = e.objid;
COMMENT ON VIEW dp.check_installed IS 'inside of dp_check_privileges: the functions of extensions';

CREATE VIEW dp.check_extension_functions (what, proc) WITH (security_invoker) AS
    SELECT 'a function of the extension ' || i.extension
               || ', which reads with the rights of the server', i.proc
      FROM dp.check_installed AS i
     WHERE i.extension IN ('pgstattuple', 'pg_visibility', 'pg_freespacemap', 'pg_buffercache',
                           'pg_walinspect', 'pg_logicalinspect', 'amcheck')
           AND i.proname !~ 'evict' -- which asks for a superuser
        OR (i.extension, i.proname) IN (('pg_stat_statements', 'pg_stat_statements'),
                                        ('dblink', 'dblink_connect_u'),
                                        ('adminpack', 'pg_file_write'))
    UNION ALL
    -- sizes, statements of others, commands on other nodes; not what returns nothing or yes or no,
    -- what is computed from the arguments, nor what Citus itself calls in the session of any role
    SELECT 'a function of the extension ' || i.extension
               || ', which tells or fetches what lies on the nodes', i.proc
      FROM dp.check_installed AS i
     WHERE i.extension IN ('citus', 'citus_columnar') AND i.provolatile <> 'i'
       AND NOT 'internal'::regtype = ANY (i.proargtypes)
       AND (i.prorettype <> ALL ('{void,bool,event_trigger,trigger}'::regtype[]::oid[])
            OR i.proname ~ '_update_(shard|table)_statistics$')
       AND i.proname !~
           ('^(any_value|citus_jsonb?_concatenate|column_|get_current_transaction|get_shard_id_for|'
            'shard_name$|'
            'citus_(backend_gpid|calculate_gpid|coordinator_nodeid|drop_all_shards|version)$|'
            'citus_.*_for_(gpid|nodeid)$|'
            '(broadcast|create|fetch|read)_intermediate_results?$|'
            'worker_(hash|last_saved_explain|nextval|partition_query_result|save_query_explain))');
COMMENT ON VIEW dp.check_extension_functions IS
    'inside of dp_check_privileges: functions of extensions that tell something about private rows';

CREATE VIEW dp.check_definers (dataset, what, proc) WITH (security_invoker) AS
    -- what it reads only its body tells; those of pg_dp are fine
    SELECT DISTINCT
           d.dataset, 'a SECURITY DEFINER function whose owner may read the private table', p.oid
      FROM dp.check_private AS d
      JOIN pg_catalog.pg_proc AS p
           ON d.part < 4 AND pg_catalog.has_any_column_privilege(p.proowner, d.relid, 'SELECT')
     WHERE p.prosecdef
       AND p.oid NOT IN (SELECT i.proc FROM dp.check_installed AS i WHERE i.extension = 'pg_dp');
COMMENT ON VIEW dp.check_definers IS
    'inside of dp_check_privileges: functions that may read private tables for whoever calls them';

-- A function of the same name there, whose types match better, takes the calls. The default
-- search_path begins with a schema named like the role that calls.
CREATE VIEW dp.check_lookups WITH (security_invoker) AS
    SELECT d.dataset, d.owner, n.oid AS schema, x.extowner AS heir
      FROM dp.check_datasets AS d
      JOIN pg_catalog.pg_extension AS x ON x.extname = 'pg_dp'
      JOIN pg_catalog.pg_namespace AS n
           ON n.oid = x.extnamespace OR n.nspname IN ('dp', pg_catalog.pg_get_userbyid(d.owner));
COMMENT ON VIEW dp.check_lookups IS
    'inside of dp_check_privileges: schemas where functions of pg_dp are looked up';


-- All in one form. columns: those that it is about, as a list in a GRANT; further: what has to
-- follow the REVOKE.

CREATE VIEW dp.check_relation_objects WITH (security_invoker) AS
    SELECT r.dataset, o.what, c.oid AS objid, o.columns, o.acl, r.privileges,
           c.relowner AS owner, o.for_owner, '' AS further
      FROM dp.check_relations AS r
      JOIN pg_catalog.pg_class AS c ON c.oid = r.relid
     CROSS JOIN LATERAL (
        SELECT r.what, '', c.relacl, r.for_owner
        UNION ALL
        SELECT 'a column of ' || r.what, pg_catalog.format(' (%I)', a.attname), a.attacl, false
          FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND NOT a.attisdropped
      ) AS o (what, columns, acl, for_owner)
    UNION ALL
    -- as a privilege on a table covers its columns, it has to be granted anew on the other ones.
    -- The server does not need reltuples, relpages, some clients do (pg_dump, JDBC's getIndexInfo).
    SELECT w.dataset, w.what, c.oid, o.columns, o.acl, ARRAY['SELECT'], c.relowner, false, o.further
      FROM dp.check_columns AS w
      JOIN pg_catalog.pg_class AS c ON c.oid = w.relid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     CROSS JOIN LATERAL (
        SELECT '', c.relacl, pg_catalog.replace(pg_catalog.format(
                   '; GRANT SELECT (%s) ON TABLE %I.%I TO ',
                   pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ' ORDER BY a.attnum),
                   n.nspname, c.relname), '%', '%%') || '%s'
          FROM pg_catalog.pg_attribute AS a
         WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname !~ w.columns
        UNION ALL
        SELECT pg_catalog.format(' (%I)', a.attname), a.attacl, ''
          FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname ~ w.columns
      ) AS o (columns, acl, further);
COMMENT ON VIEW dp.check_relation_objects IS
    'inside of dp_check_privileges: relations and columns, with their owners and grants';

CREATE VIEW dp.check_function_objects WITH (security_invoker) AS
    SELECT f.dataset, f.what, p.oid AS objid,
           coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)) AS acl, p.proowner AS owner
      FROM (SELECT NULL::text, s.what, s.proc FROM dp.check_server_functions AS s
            UNION ALL
            SELECT NULL, e.what, e.proc FROM dp.check_extension_functions AS e
            UNION ALL
            SELECT d.dataset, d.what, d.proc FROM dp.check_definers AS d) AS f (dataset, what, proc)
      JOIN pg_catalog.pg_proc AS p ON p.oid = f.proc;
COMMENT ON VIEW dp.check_function_objects IS
    'inside of dp_check_privileges: functions that tell something, with their owners and grants';

CREATE VIEW dp.check_used_objects WITH (security_invoker) AS
    WITH used AS MATERIALIZED (
        TABLE dp.check_used
    )
    -- whose owner can replace it by one that passes the rows on
    SELECT u.dataset, 'a function that runs on rows of the private table' AS what,
           u.classid, u.objid, NULL::aclitem[] AS acl, NULL::text[] AS privileges,
           p.proowner AS owner
      FROM used AS u
      JOIN pg_catalog.pg_proc AS p ON u.classid = 'pg_catalog.pg_proc'::regclass AND p.oid = u.objid
    UNION ALL -- with which one can make a foreign table of one's own
    SELECT u.dataset, 'the foreign server of the private table', u.classid, u.objid,
           s.srvacl, ARRAY['USAGE'], s.srvowner
      FROM used AS u
      JOIN pg_catalog.pg_foreign_server AS s
           ON u.classid = 'pg_catalog.pg_foreign_server'::regclass AND s.oid = u.objid
    UNION ALL
    -- whose owner can add a check, which the server runs on all values of the type, in every table
    SELECT c.dataset, 'a domain of the private table', 'pg_catalog.pg_type'::regclass, t.oid,
           NULL, NULL, t.typowner
      FROM dp.check_column_types AS c
      JOIN pg_catalog.pg_type AS t ON t.oid = c.typid AND t.typtype = 'd';
COMMENT ON VIEW dp.check_used_objects IS
    'inside of dp_check_privileges: what sees private rows, with its owner and grants';

CREATE VIEW dp.check_schema_objects WITH (security_invoker) AS
    -- a query is planned, and debug_print_plan prints that with estimates from the planner's
    -- statistics, before the privileges on its tables are checked; those on a schema come first
    SELECT DISTINCT p.dataset,
           'the schema of the private table: plans with estimates can be printed' AS what,
           n.oid AS objid, n.nspacl AS acl, ARRAY['USAGE'] AS privileges, n.nspowner AS owner,
           true AS for_owner,
           CASE WHEN n.nspname = 'public'
                     OR n.oid = (SELECT x.extnamespace
                                   FROM pg_catalog.pg_extension AS x WHERE x.extname = 'pg_dp')
                THEN ' -- or have the table in another schema, which is better'
                ELSE ''
           END AS further
      FROM dp.check_private AS p
      JOIN pg_catalog.pg_class AS c ON c.oid = p.relid AND p.part < 4
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    UNION ALL
    SELECT l.dataset, 'a schema where functions of pg_dp are looked up', n.oid, n.nspacl,
           ARRAY['CREATE'], n.nspowner, false, ''
      FROM dp.check_lookups AS l JOIN pg_catalog.pg_namespace AS n ON n.oid = l.schema;
COMMENT ON VIEW dp.check_schema_objects IS
    'inside of dp_check_privileges: schemas, with their owners and grants';

CREATE VIEW dp.check_database_objects WITH (security_invoker) AS
    SELECT 'the database: functions of pg_dp are also looked up in a schema named like the caller'
               AS what,
           d.oid AS objid, d.datacl AS acl, ARRAY['CREATE'] AS privileges, d.datdba AS owner,
           false AS for_owner, '' AS further
      FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()
    UNION ALL
    SELECT 'the database, who may VACUUM VERBOSE, which counts rows', d.oid, NULL, NULL,
           d.datdba, true, ''
      FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()
    UNION ALL
    SELECT 'another database, where the counters of this one can be read', d.oid,
           coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba)), ARRAY['CONNECT'], d.datdba,
           false, ' -- or revoke there, too, EXECUTE on the functions that count'
      FROM pg_catalog.pg_database AS d
     WHERE d.datname <> pg_catalog.current_database() AND d.datallowconn;
COMMENT ON VIEW dp.check_database_objects IS
    'inside of dp_check_privileges: databases, with their owners and grants';

CREATE VIEW dp.check_objects WITH (security_invoker) AS
    SELECT o.*, i.identity,
           CASE i.type
               WHEN 'sequence' THEN 'SEQUENCE ' WHEN 'function' THEN 'FUNCTION '
               WHEN 'procedure' THEN 'PROCEDURE ' WHEN 'type' THEN 'DOMAIN '
               WHEN 'server' THEN 'FOREIGN SERVER ' WHEN 'database' THEN 'DATABASE '
               WHEN 'schema' THEN 'SCHEMA ' WHEN 'parameter ACL' THEN 'PARAMETER ' ELSE 'TABLE '
           END || i.identity AS target
      FROM (
        SELECT r.dataset, r.what, 'pg_catalog.pg_class'::regclass::oid, r.objid, r.columns, r.acl,
               r.privileges, r.owner, r.for_owner, r.further
          FROM dp.check_relation_objects AS r
        UNION ALL
        SELECT f.dataset, f.what, 'pg_catalog.pg_proc'::regclass, f.objid, '', f.acl,
               ARRAY['EXECUTE'], f.owner, false, ''
          FROM dp.check_function_objects AS f
        UNION ALL
        SELECT u.dataset, u.what, u.classid, u.objid, '', u.acl, u.privileges, u.owner, true, ''
          FROM dp.check_used_objects AS u
        UNION ALL
        SELECT s.dataset, s.what, 'pg_catalog.pg_namespace'::regclass, s.objid, '', s.acl,
               s.privileges, s.owner, s.for_owner, s.further
          FROM dp.check_schema_objects AS s
        UNION ALL
        SELECT NULL, d.what, 'pg_catalog.pg_database'::regclass, d.objid, '', d.acl,
               d.privileges, d.owner, d.for_owner, d.further
          FROM dp.check_database_objects AS d
        UNION ALL -- such as what is logged and which libraries are loaded
        SELECT NULL, 'a setting that is reserved to superusers',
               'pg_catalog.pg_parameter_acl'::regclass, s.oid, '', s.paracl, NULL, 10, false, ''
          FROM pg_catalog.pg_parameter_acl AS s
      ) AS o (dataset, what, classid, objid, columns, acl, privileges, owner, for_owner, further)
     CROSS JOIN LATERAL pg_catalog.pg_identify_object(o.classid, o.objid, 0) AS i;
COMMENT ON VIEW dp.check_objects IS
    'inside of dp_check_privileges: all that tells something, with its owner, grants and names';


-- Who owns it, and who was granted it.

CREATE VIEW dp.check_owners (role, dataset, hole, object, remedy) WITH (security_invoker) AS
    SELECT r.role, d.dataset, 'owner of ' || o.what, o.identity,
           coalesce(r.leave, pg_catalog.format(
               'ALTER %s OWNER TO %s', pg_catalog.replace(o.target, 'FOREIGN ', ''),
               d.owner::regrole))
      FROM dp.check_objects AS o
      JOIN dp.check_datasets AS d ON d.dataset = coalesce(o.dataset, d.dataset)
      JOIN dp.check_roles AS r ON r.reached = o.owner AND r.role <> d.owner
     WHERE o.for_owner AND NOT r.rolsuper AND r.reached <> d.owner
    UNION ALL
    SELECT r.role, l.dataset, 'owner of a schema where functions of pg_dp are looked up', n.nspname,
           coalesce(r.leave, pg_catalog.format('ALTER SCHEMA %I OWNER TO %s',
                                               n.nspname, l.heir::regrole))
      FROM dp.check_lookups AS l
      JOIN pg_catalog.pg_namespace AS n ON n.oid = l.schema
      JOIN dp.check_roles AS r ON r.reached = n.nspowner AND r.role <> l.owner
     WHERE NOT r.rolsuper AND r.reached <> l.owner
    UNION ALL -- made while the role had CREATE, or by an owner of the schema
    SELECT r.role, l.dataset, 'owner of a function named like one of pg_dp', i.identity,
           'DROP ROUTINE ' || i.identity
      FROM dp.check_lookups AS l
      JOIN pg_catalog.pg_proc AS p ON p.pronamespace = l.schema
      JOIN dp.check_roles AS r ON r.reached = p.proowner AND r.role <> l.owner
     CROSS JOIN LATERAL pg_catalog.pg_identify_object('pg_catalog.pg_proc'::regclass, p.oid, 0) AS i
     WHERE NOT r.rolsuper AND r.reached <> l.owner
       AND p.proname IN (SELECT o.proname FROM dp.check_installed AS o WHERE o.extension = 'pg_dp')
       AND p.oid NOT IN (SELECT o.proc FROM dp.check_installed AS o WHERE o.extension = 'pg_dp');
COMMENT ON VIEW dp.check_owners IS
    'inside of dp_check_privileges: who owns what tells about rows, or can become an owner';

-- A grant by somebody who had the grant option is revoked in that role.
CREATE VIEW dp.check_grants (role, dataset, hole, object, remedy) WITH (security_invoker) AS
    SELECT h.role, d.dataset, g.privilege_type || ' on ' || o.what, o.identity || o.columns,
           pg_catalog.format(
               CASE WHEN g.grantor = o.owner THEN '%2$s' ELSE 'SET ROLE %1$s; %2$s; RESET ROLE' END,
               g.grantor::regrole,
               pg_catalog.format(
                   'REVOKE %s%s ON %s FROM %s%s', g.privilege_type, o.columns, o.target, h.name,
                   CASE WHEN g.is_grantable THEN ' CASCADE' END))
               || pg_catalog.format(o.further, h.name)
      FROM dp.check_objects AS o
     CROSS JOIN LATERAL pg_catalog.aclexplode(o.acl) AS g
      JOIN dp.check_grantees AS h ON h.grantee = g.grantee
      JOIN dp.check_datasets AS d
           ON d.dataset = coalesce(o.dataset, d.dataset) AND d.owner <> h.role
     WHERE g.grantee NOT IN (o.owner, d.owner)
       AND (o.privileges IS NULL OR g.privilege_type = ANY (o.privileges));
COMMENT ON VIEW dp.check_grants IS
    'inside of dp_check_privileges: privileges that tell about rows, and who was granted them';

GRANT SELECT ON
    dp.check_datasets, dp.check_roles, dp.check_predefined, dp.check_grantees, dp.check_memberships,
    dp.check_invoker_views, dp.check_private, dp.check_column_types, dp.check_used,
    dp.check_referred, dp.check_relations, dp.check_columns, dp.check_server_functions,
    dp.check_installed, dp.check_extension_functions, dp.check_definers, dp.check_lookups,
    dp.check_relation_objects, dp.check_function_objects, dp.check_used_objects,
    dp.check_schema_objects, dp.check_database_objects, dp.check_objects, dp.check_owners,
    dp.check_grants
    TO PUBLIC;

CREATE FUNCTION @extschema@.dp_check_privileges(role regrole)
    RETURNS TABLE (dataset text, hole text, object text, remedy text)
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp
    SET jit = off -- compiling so large a plan takes far longer than executing it
AS $$
BEGIN
    IF role IS NULL THEN
        RAISE 'role must not be NULL'
            USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the role to check.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.oid = role) THEN
        RAISE 'role with OID % does not exist', role::oid
            USING ERRCODE = 'undefined_object', HINT = 'The view pg_roles lists the roles.';
    END IF;

    RETURN QUERY
    SELECT f.* FROM (
        SELECT m.dataset, m.hole, m.object, m.remedy
          FROM dp.check_memberships AS m WHERE m.role = $1
        UNION
        SELECT o.dataset, o.hole, o.object, o.remedy FROM dp.check_owners AS o WHERE o.role = $1
        UNION
        SELECT g.dataset, g.hole, g.object, g.remedy FROM dp.check_grants AS g WHERE g.role = $1
    ) AS f
     ORDER BY f.dataset, f.hole COLLATE "C", f.object COLLATE "C", f.remedy COLLATE "C";
END $$;
COMMENT ON FUNCTION @extschema@.dp_check_privileges(regrole) IS
    'by which privileges a role could learn about private rows, and how to take them away';
