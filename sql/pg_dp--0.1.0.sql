\echo Use "CREATE EXTENSION pg_dp" to load this file. \quit

-- Public types and functions go to the schema that CREATE EXTENSION names; the catalog (datasets,
-- ledger, stored releases) lies in schema dp. Functions that read the catalog or private tables pin
-- their search_path; all are written in Rust, in the files of src/pg/ that the headings name.


-- The schema that CREATE EXTENSION names may be one where others can create, and what they have made there could fit an
-- expression of this script better than what is meant. So nothing is looked for there: all is qualified but
-- what is PostgreSQL's own.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Names of regions pass through UTF8: in another encoding a release could fail once it is charged.
DO $$
BEGIN
    IF getdatabaseencoding() <> 'UTF8' THEN
        RAISE 'pg_dp needs a database with the encoding UTF8, this one has %', getdatabaseencoding()
            USING ERRCODE = 'feature_not_supported', HINT = 'CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0 makes one.';
    END IF;
END $$;


-- Types (types.rs) ------------------------------------------------------------------------------

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
    INPUT = @extschema@.coco_in, OUTPUT = @extschema@.coco_out, RECEIVE = @extschema@.coco_recv, SEND = @extschema@.coco_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);
COMMENT ON TYPE @extschema@.coco IS
    'exact count-of-counts histogram, CONFIDENTIAL: how many groups there are of each size; written {size:groups, ...}';
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
    INPUT = @extschema@.dp_coco_in, OUTPUT = @extschema@.dp_coco_out, RECEIVE = @extschema@.dp_coco_recv, SEND = @extschema@.dp_coco_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'd', PREFERRED = true
);
COMMENT ON TYPE @extschema@.dp_coco IS
    'released, differentially private count-of-counts histogram: how many groups there are of each size';
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
    INPUT = @extschema@.bins_in, OUTPUT = @extschema@.bins_out, RECEIVE = @extschema@.bins_recv, SEND = @extschema@.bins_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);
COMMENT ON TYPE @extschema@.bins IS
    'exact histogram over consecutive bins, CONFIDENTIAL: how many rows there are in each bin from lo to hi - 1; written [lo,hi){bin:count, ...}';
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
    INPUT = @extschema@.dp_ranges_in, OUTPUT = @extschema@.dp_ranges_out, RECEIVE = @extschema@.dp_ranges_recv, SEND = @extschema@.dp_ranges_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'd'
);
COMMENT ON TYPE @extschema@.dp_ranges IS
    'released, differentially private histogram over consecutive bins, from which dp_range_sums answers any range; written as JSON';
COMMENT ON FUNCTION @extschema@.dp_ranges_in(cstring) IS 'text input of dp_ranges';
COMMENT ON FUNCTION @extschema@.dp_ranges_out(@extschema@.dp_ranges) IS 'text output of dp_ranges';
COMMENT ON FUNCTION @extschema@.dp_ranges_recv(internal) IS 'binary input of dp_ranges';
COMMENT ON FUNCTION @extschema@.dp_ranges_send(@extschema@.dp_ranges) IS 'binary output of dp_ranges';

-- there is no cast between confidential and released types, on purpose
CREATE FUNCTION @extschema@.coco_to_jsonb(@extschema@.coco) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'coco_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.coco_to_jsonb(@extschema@.coco) IS 'the histogram as {"size": groups, ...}; behind the cast';
CREATE CAST (@extschema@.coco AS jsonb) WITH FUNCTION @extschema@.coco_to_jsonb(@extschema@.coco);
COMMENT ON CAST (@extschema@.coco AS jsonb) IS '{"size": groups, ...}';
CREATE FUNCTION @extschema@.dp_coco_to_jsonb(@extschema@.dp_coco) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'dp_coco_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_to_jsonb(@extschema@.dp_coco) IS 'the histogram as {"size": groups, ...}; behind the cast';
CREATE CAST (@extschema@.dp_coco AS jsonb) WITH FUNCTION @extschema@.dp_coco_to_jsonb(@extschema@.dp_coco);
COMMENT ON CAST (@extschema@.dp_coco AS jsonb) IS '{"size": groups, ...}';
CREATE FUNCTION @extschema@.bins_to_jsonb(@extschema@.bins) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'bins_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.bins_to_jsonb(@extschema@.bins) IS 'the bins as {"lo": lo, "hi": hi, "counts": {"bin": count, ...}}; behind the cast';
CREATE CAST (@extschema@.bins AS jsonb) WITH FUNCTION @extschema@.bins_to_jsonb(@extschema@.bins);
COMMENT ON CAST (@extschema@.bins AS jsonb) IS '{"lo": lo, "hi": hi, "counts": {"bin": count, ...}}';
CREATE FUNCTION @extschema@.dp_ranges_to_jsonb(@extschema@.dp_ranges) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'dp_ranges_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_ranges_to_jsonb(@extschema@.dp_ranges) IS 'what was released: bounds, method, parameters, noisy integers; behind the cast';
CREATE CAST (@extschema@.dp_ranges AS jsonb) WITH FUNCTION @extschema@.dp_ranges_to_jsonb(@extschema@.dp_ranges);
COMMENT ON CAST (@extschema@.dp_ranges AS jsonb) IS 'what was released: bounds, method, parameters, noisy integers';


-- Exact aggregates (aggregates.rs) --------------------------------------------------------------

CREATE FUNCTION @extschema@.coco_add(@extschema@.coco, size bigint) RETURNS @extschema@.coco
    AS 'MODULE_PATHNAME', 'coco_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.coco_add(@extschema@.coco, bigint) IS 'adds one group to a histogram';
CREATE FUNCTION @extschema@.coco_merge(@extschema@.coco, @extschema@.coco) RETURNS @extschema@.coco
    AS 'MODULE_PATHNAME', 'coco_merge_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.coco_merge(@extschema@.coco, @extschema@.coco) IS 'adds one histogram to another';

CREATE AGGREGATE @extschema@.coco_agg(size bigint) (
    SFUNC = @extschema@.coco_add, STYPE = @extschema@.coco, INITCOND = '{}', COMBINEFUNC = @extschema@.coco_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.coco_agg(bigint) IS
    'exact histogram of group sizes, one input row per group; NULL and negative sizes are errors';
CREATE AGGREGATE @extschema@.coco_agg(h @extschema@.coco) (
    SFUNC = @extschema@.coco_merge, STYPE = @extschema@.coco, INITCOND = '{}', COMBINEFUNC = @extschema@.coco_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.coco_agg(@extschema@.coco) IS 'exact histogram of all the groups of several histograms';

CREATE FUNCTION @extschema@.bins_add(@extschema@.bins, bin bigint, lo bigint, hi bigint) RETURNS @extschema@.bins
    AS 'MODULE_PATHNAME', 'bins_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.bins_add(@extschema@.bins, bigint, bigint, bigint) IS 'counts one row in its bin';
CREATE FUNCTION @extschema@.bins_merge(@extschema@.bins, @extschema@.bins) RETURNS @extschema@.bins
    AS 'MODULE_PATHNAME', 'bins_merge_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.bins_merge(@extschema@.bins, @extschema@.bins) IS 'adds counts to others with the same bounds';

CREATE AGGREGATE @extschema@.bins_agg(bin bigint, lo bigint, hi bigint) (
    SFUNC = @extschema@.bins_add, STYPE = @extschema@.bins, COMBINEFUNC = @extschema@.bins_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.bins_agg(bigint, bigint, bigint) IS
    'exact counts of the bins lo to hi - 1, at most 2^24 of them; a bin outside counts in the first or last one, a NULL bin not at all; NULL without rows';
CREATE AGGREGATE @extschema@.bins_agg(b @extschema@.bins) (
    SFUNC = @extschema@.bins_merge, STYPE = @extschema@.bins, COMBINEFUNC = @extschema@.bins_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.bins_agg(@extschema@.bins) IS 'exact counts of several values of type bins together; their bounds must be the same';


-- Releases of one histogram (histogram.rs, aggregates.rs) ---------------------------------------

CREATE FUNCTION @extschema@.dp_coco_histogram(
        h @extschema@.coco, epsilon float8, max_size bigint DEFAULT 10000, method text DEFAULT 'auto',
        dataset text DEFAULT NULL)
    RETURNS @extschema@.dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram(@extschema@.coco, float8, bigint, text, text) IS
    'releases a histogram with epsilon-differential privacy for one entity more or less; the number of groups is public; larger sizes count at max_size; charged to the dataset if one is named';

CREATE FUNCTION @extschema@.dp_coco_histogram_add(internal, size bigint, epsilon float8) RETURNS internal
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_add_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram_add(internal, bigint, float8) IS 'inside of the aggregate dp_coco_histogram';
CREATE FUNCTION @extschema@.dp_coco_histogram_add(internal, size bigint, epsilon float8, max_size bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_add_capped_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram_add(internal, bigint, float8, bigint) IS 'inside of the aggregate dp_coco_histogram';
CREATE FUNCTION @extschema@.dp_coco_histogram_add(internal, size bigint, epsilon float8, max_size bigint, method text) RETURNS internal
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_add_by_method_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram_add(internal, bigint, float8, bigint, text) IS 'inside of the aggregate dp_coco_histogram';
CREATE FUNCTION @extschema@.dp_coco_histogram_final(internal) RETURNS @extschema@.dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_final_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_histogram_final(internal) IS 'inside of the aggregate dp_coco_histogram';

-- READ_WRITE: the final function, which draws the noise, runs once per state; no window function
CREATE AGGREGATE @extschema@.dp_coco_histogram(size bigint, epsilon float8) (
    SFUNC = @extschema@.dp_coco_histogram_add, STYPE = internal, FINALFUNC = @extschema@.dp_coco_histogram_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE
);
COMMENT ON AGGREGATE @extschema@.dp_coco_histogram(bigint, float8) IS
    'collects group sizes, one row per group, and releases their histogram in one step; NULL and negative sizes count as 0';
CREATE AGGREGATE @extschema@.dp_coco_histogram(size bigint, epsilon float8, max_size bigint) (
    SFUNC = @extschema@.dp_coco_histogram_add, STYPE = internal, FINALFUNC = @extschema@.dp_coco_histogram_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE
);
COMMENT ON AGGREGATE @extschema@.dp_coco_histogram(bigint, float8, bigint) IS
    'collects group sizes and releases their histogram in one step; larger sizes count at max_size';
CREATE AGGREGATE @extschema@.dp_coco_histogram(size bigint, epsilon float8, max_size bigint, method text) (
    SFUNC = @extschema@.dp_coco_histogram_add, STYPE = internal, FINALFUNC = @extschema@.dp_coco_histogram_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE
);
COMMENT ON AGGREGATE @extschema@.dp_coco_histogram(bigint, float8, bigint, text) IS
    'collects group sizes and releases their histogram in one step, by the named method';

-- CREATE AGGREGATE always writes "immutable". Volatile is the truth, and it is what keeps
-- postgres_fdw from sending the noise to another server and the planner from merging two calls.
UPDATE pg_catalog.pg_proc SET provolatile = 'v'
 WHERE oid IN ('@extschema@.dp_coco_histogram(bigint, float8)'::pg_catalog.regprocedure,
               '@extschema@.dp_coco_histogram(bigint, float8, bigint)'::pg_catalog.regprocedure,
               '@extschema@.dp_coco_histogram(bigint, float8, bigint, text)'::pg_catalog.regprocedure);


-- What a released histogram says (accessors.rs): free post-processing ---------------------------

CREATE FUNCTION @extschema@.dp_unnest(h @extschema@.dp_coco) RETURNS TABLE (size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_unnest_coco_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION @extschema@.dp_unnest(@extschema@.dp_coco) IS 'the histogram as rows, sizes ascending, none with 0 groups';
CREATE FUNCTION @extschema@.dp_groups(h @extschema@.dp_coco) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_groups_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_groups(@extschema@.dp_coco) IS 'the number of groups';
CREATE FUNCTION @extschema@.dp_entities(h @extschema@.dp_coco) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_entities_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_entities(@extschema@.dp_coco) IS 'the number of entities in all groups';
CREATE FUNCTION @extschema@.dp_quantile(h @extschema@.dp_coco, q float8) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_quantile_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_quantile(@extschema@.dp_coco, float8) IS
    'the smallest size that a share q of the groups does not exceed, 0 <= q <= 1; NULL without groups';
CREATE FUNCTION @extschema@.dp_mean_size(h @extschema@.dp_coco) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_mean_size_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_mean_size(@extschema@.dp_coco) IS 'entities per group; NULL without groups';
CREATE FUNCTION @extschema@.dp_gini(h @extschema@.dp_coco) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_gini_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_gini(@extschema@.dp_coco) IS
    'Gini coefficient of the group sizes, 0 if all are equal; NULL without groups';
CREATE FUNCTION @extschema@.dp_emd(released @extschema@.dp_coco, exact @extschema@.coco) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_emd_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_emd(@extschema@.dp_coco, @extschema@.coco) IS
    'earth mover''s distance, how many entities the release is off by. CONFIDENTIAL: it is computed from exact data';


-- The catalog -----------------------------------------------------------------------------------

CREATE SCHEMA dp;
COMMENT ON SCHEMA dp IS 'pg_dp: datasets, budget ledger, stored releases';
REVOKE ALL ON SCHEMA dp FROM PUBLIC;
GRANT USAGE ON SCHEMA dp TO PUBLIC;

-- Columns are explained by the comments on the views, which are what users read. Roles and relations
-- are kept by number and by name. A column of type regrole or regclass would make the restore of
-- the whole ledger fail where one role or table is missing; a number alone could mean another one.
CREATE FUNCTION dp.role(role oid, name text) RETURNS oid LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN pg_catalog.pg_get_userbyid(role) = name THEN role ELSE 10::oid END;
COMMENT ON FUNCTION dp.role(oid, text) IS
    'the role, if it is still the one of that name; otherwise the first superuser, who has to sort it out';

-- Datasets whose tables share rows add up, and the public table of one must not have its private rows.
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
              JOIN pg_catalog.pg_depend AS e ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid
             WHERE b.class = 'pg_catalog.pg_class'::regclass AND w.ev_class = b.object AND w.ev_type = '1'
            UNION ALL -- a function that is called there, if its body is no string
            SELECT e.refclassid, e.refobjid FROM pg_catalog.pg_depend AS e
             WHERE b.class = 'pg_catalog.pg_proc'::regclass AND e.classid = b.class AND e.objid = b.object
          ) AS next (class, object)
         WHERE next.class IN ('pg_catalog.pg_class'::regclass, 'pg_catalog.pg_proc'::regclass)
    )
    SELECT b.object FROM behind AS b WHERE b.class = 'pg_catalog.pg_class'::regclass;
END;
COMMENT ON FUNCTION dp.tables_behind(oid) IS
    'the relations from which one has its rows: itself, its partitions and children at any depth, and what the query of a materialized view reads';

CREATE TABLE dp.dataset (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    owner oid NOT NULL,
    owner_name text NOT NULL,
    entities oid NOT NULL,
    entities_name text NOT NULL,
    groups oid,
    groups_name text,
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
COMMENT ON TABLE dp.dataset IS 'declared datasets and their budgets, dropped ones included; see the view dp.datasets';

CREATE TABLE dp.access (
    dataset bigint NOT NULL REFERENCES dp.dataset,
    grantee oid NOT NULL,
    grantee_name text NOT NULL,
    epsilon_limit numeric CHECK (epsilon_limit > 0),
    epsilon_spent numeric NOT NULL DEFAULT 0,
    revoked boolean NOT NULL DEFAULT false, -- a role that gets it back has still spent what it has
    granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    granted_by text NOT NULL,
    PRIMARY KEY (dataset, grantee)
);
COMMENT ON TABLE dp.access IS 'who may release from a dataset besides its owner; see the view dp.grants';

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
    hash bytea NOT NULL
);
COMMENT ON TABLE dp.charge IS 'every charge to a budget, append-only; see the view dp.ledger';

CREATE FUNCTION dp.identity() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN (SELECT concat_ws('/', s.system_identifier,
                         -- the timeline that is written now; the control file tells that of the last checkpoint
                         substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8), d.oid, e.oid)
          FROM pg_catalog.pg_control_system() AS s, pg_catalog.pg_database AS d, pg_catalog.pg_extension AS e
         WHERE d.datname = pg_catalog.current_database() AND e.extname = 'pg_dp');
COMMENT ON FUNCTION dp.identity() IS 'which server, timeline, database and installation this is';
REVOKE EXECUTE ON FUNCTION dp.identity() FROM PUBLIC;

-- PostgreSQL's own sha256: an auditor can recompute the chain without our code.
CREATE FUNCTION dp.charge_hash(
        previous bytea, id bigint, epoch bigint, charged_at timestamptz, charged_by text, dataset bigint,
        function text, epsilon numeric, delta numeric, rho numeric, parameters jsonb)
    RETURNS bytea LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN pg_catalog.sha256(coalesce(previous, ''::bytea) || pg_catalog.convert_to(pg_catalog.jsonb_build_array(
    id, epoch, pg_catalog.to_char(charged_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), charged_by, dataset,
    function, pg_catalog.trim_scale(epsilon)::text, pg_catalog.trim_scale(delta)::text,
    pg_catalog.trim_scale(rho)::text, parameters)::text, 'UTF8'));
COMMENT ON FUNCTION dp.charge_hash(bytea, bigint, bigint, timestamptz, text, bigint, text, numeric, numeric, numeric, jsonb) IS
    'a link of the ledger''s hash chain: SHA-256 of the link before and of the entry';

CREATE FUNCTION dp.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE 'the ledger can only be added to' USING ERRCODE = 'object_not_in_prerequisite_state';
END $$;
COMMENT ON FUNCTION dp.refuse_change() IS 'keeps the ledger append-only';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dp.charge
    FOR EACH STATEMENT EXECUTE FUNCTION dp.refuse_change();
ALTER TABLE dp.charge ENABLE ALWAYS TRIGGER append_only; -- also with session_replication_role = replica

CREATE TABLE dp.release (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dataset bigint NOT NULL REFERENCES dp.dataset,
    name text NOT NULL,
    charge bigint NOT NULL, -- no foreign key: a snapshot taken before the charge does not see it
    released_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    parameters jsonb NOT NULL,
    UNIQUE (dataset, name)
);
COMMENT ON TABLE dp.release IS 'releases that were stored under a name; see the view dp.releases';

CREATE TABLE dp.release_region (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- the regions' order: level by level
    path text[] NOT NULL,
    histogram @extschema@.dp_coco NOT NULL,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_region IS 'the regions of stored releases; see the view dp.release_rows';

SELECT pg_catalog.pg_extension_config_dump('dp.dataset', '');
SELECT pg_catalog.pg_extension_config_dump('dp.dataset_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp.access', '');
SELECT pg_catalog.pg_extension_config_dump('dp.epoch', '');
SELECT pg_catalog.pg_extension_config_dump('dp.epoch_n_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp.charge', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_region', '');


-- Datasets and budgets (dataset.rs, ledger.rs) --------------------------------------------------

CREATE FUNCTION @extschema@.dp_create_dataset(
        name text, entities regclass, group_key text[], hierarchy text[],
        groups regclass DEFAULT NULL, size_column text DEFAULT NULL,
        epsilon_budget float8 DEFAULT NULL, delta_budget float8 DEFAULT 0,
        privacy_unit text DEFAULT NULL, max_rows_per_unit integer DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_create_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_create_dataset(text, regclass, text[], text[], regclass, text, float8, float8, text, integer) IS
    'declares a private table of entities, the key of the group that each belongs to, the hierarchy''s columns from the top level to the leaf (of the public table of groups where given), and the budget. Without a table of groups you declare the groups that occur to be public: that a group exists is then not protected. size_column: rows of entities are groups, whatever their key, with their size in this column, or, if it is of type coco, many groups each; with a table of groups, how many entities a row stands for. One entity more or less is one in the size of one group. privacy_unit: the column that tells whose a row is; max_rows_per_unit of each unit''s rows are used, chosen at random for each release';

CREATE FUNCTION @extschema@.dp_confirm_dataset(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_confirm_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_confirm_dataset(text) IS
    'the owner confirms that a dataset whose tables were changed since it was declared still means what it did';

CREATE FUNCTION @extschema@.dp_drop_dataset(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_drop_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_drop_dataset(text) IS 'forgets a dataset; its ledger stays';

CREATE FUNCTION @extschema@.dp_set_smallest_charge(dataset text, epsilon float8) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_set_smallest_charge_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_set_smallest_charge(text, float8) IS
    'sets the least epsilon of a release by a role that the dataset was granted to, at first 1/10000 of the budget: it bounds how often what noise does not cover, such as how long a release takes, can be observed. With a delta_budget a release also has to use up as large a share of the zCDP bound. The owner is exempt';

CREATE FUNCTION @extschema@.dp_grant(dataset text, role regrole, epsilon_limit float8 DEFAULT NULL) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_grant_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_grant(text, regrole, float8) IS
    'lets a role release from a dataset whose tables it cannot read, up to epsilon_limit of the dataset''s budget; granting again changes the limit and keeps what was spent';

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
COMMENT ON FUNCTION @extschema@.dp_budget(text) IS
    'what is spent and left of a dataset''s budget. epsilon_spent and delta_spent are of the smaller of two valid bounds: the plain sums while the deltas add up to at most half of the delta budget, and the conversion of the summed zCDP loss rho at the other half';

CREATE FUNCTION @extschema@.dp_verify_ledger()
    RETURNS TABLE (entries bigint, epochs bigint, whole boolean, problem text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp ROWS 1
BEGIN ATOMIC
    WITH chained AS (
        SELECT c.id, c.id = row_number() OVER by_id AS in_order,
               c.hash = dp.charge_hash(lag(c.hash) OVER by_id, c.id, c.epoch, c.charged_at, c.charged_by, c.dataset,
                                       c.function, c.epsilon, c.delta, c.rho, c.parameters) AS linked
          FROM dp.charge AS c WINDOW by_id AS (ORDER BY c.id)
    ), broken AS (
        SELECT min(id) FILTER (WHERE NOT (in_order AND linked)) AS first FROM chained
    ), unbalanced AS (
        SELECT min(d.id) AS first
          FROM dp.dataset AS d
          LEFT JOIN (SELECT dataset, count(*) AS n, sum(epsilon) AS epsilon, sum(delta) AS delta, sum(rho) AS rho
                       FROM dp.charge GROUP BY dataset) AS c ON c.dataset = d.id
         WHERE (d.releases, d.epsilon_sum, d.delta_sum, d.rho_sum)
               <> (coalesce(c.n, 0), coalesce(c.epsilon, 0), coalesce(c.delta, 0), coalesce(c.rho, 0))
    ), problems AS (
        SELECT CASE WHEN broken.first IS NOT NULL
                    THEN format('entry %s does not continue the chain', broken.first)
                    WHEN unbalanced.first IS NOT NULL
                    THEN format('the sums of dataset number %s are not those of its entries', unbalanced.first)
               END AS problem
          FROM broken, unbalanced
    )
    SELECT (SELECT count(*) FROM dp.charge), (SELECT count(*) FROM dp.epoch), p.problem IS NULL, p.problem
      FROM problems AS p;
END;
COMMENT ON FUNCTION @extschema@.dp_verify_ledger() IS
    'recomputes the ledger''s hash chain and sums: whole is true if no entry was changed, removed or put in between. More than one epoch means that the database was restored from a backup, or promoted, since the first charge';


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


-- Range sums (ranges.rs) ------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_range_release(
        b @extschema@.bins, epsilon float8, delta float8 DEFAULT 0, method text DEFAULT 'auto',
        dataset text DEFAULT NULL)
    RETURNS @extschema@.dp_ranges
    AS 'MODULE_PATHNAME', 'dp_range_release_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_release(@extschema@.bins, float8, float8, text, text) IS
    'releases the counts of bins with (epsilon, delta)-differential privacy for one row more or less, so that any range sum can be read off; charged to the dataset if one is named';

CREATE FUNCTION @extschema@.dp_range_sum(r @extschema@.dp_ranges, range int8range) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_range_sum_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_range_sum(@extschema@.dp_ranges, int8range) IS
    'how many rows lie in a range, estimated from a release: in the part of it that is inside of the bounds, 0 if it is empty. Free post-processing';
CREATE FUNCTION @extschema@.dp_range_sums(r @extschema@.dp_ranges, ranges int8range[])
    RETURNS TABLE (range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION @extschema@.dp_range_sums(@extschema@.dp_ranges, int8range[]) IS
    'how many rows lie in each of the ranges, with the exact standard deviation of each answer''s noise. Free post-processing';
CREATE FUNCTION @extschema@.dp_unnest(r @extschema@.dp_ranges) RETURNS TABLE (bin bigint, value float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_unnest_ranges_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1000;
COMMENT ON FUNCTION @extschema@.dp_unnest(@extschema@.dp_ranges) IS 'every bin with the estimate of its count and the standard deviation of the noise';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges int8range[], epsilon float8, delta float8 DEFAULT 0,
        bounds int8range DEFAULT NULL, method text DEFAULT 'auto')
    RETURNS TABLE (range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_numbers_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(text, text, int8range[], float8, float8, int8range, text) IS
    'how many rows of a dataset''s private table have a value in each of the ranges, from one release, with the exact standard deviation of each answer''s noise. Values outside of bounds count in the first or last bin, NULL in none; without bounds the bins are those of the ranges and one more on either side';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges daterange[], bin_width interval, epsilon float8, delta float8 DEFAULT 0,
        bounds daterange DEFAULT NULL, method text DEFAULT 'auto')
    RETURNS TABLE (range daterange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_dates_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(text, text, daterange[], interval, float8, float8, daterange, text) IS
    'the same for a column of type date, in bins of bin_width that begin at the lower end of bounds, or else at the least end of the ranges; all ends must lie whole bins apart';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges tsrange[], bin_width interval, epsilon float8, delta float8 DEFAULT 0,
        bounds tsrange DEFAULT NULL, method text DEFAULT 'auto')
    RETURNS TABLE (range tsrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_timestamps_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(text, text, tsrange[], interval, float8, float8, tsrange, text) IS
    'the same for a column of type timestamp, in bins of bin_width that begin at the lower end of bounds, or else at the least end of the ranges; all ends must lie whole bins apart';

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges tstzrange[], bin_width interval, epsilon float8, delta float8 DEFAULT 0,
        bounds tstzrange DEFAULT NULL, method text DEFAULT 'auto')
    RETURNS TABLE (range tstzrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_timestamptzs_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_range_sums(text, text, tstzrange[], interval, float8, float8, tstzrange, text) IS
    'the same for a column of type timestamptz, in bins of bin_width that begin at the lower end of bounds, or else at the least end of the ranges; all ends must lie whole bins apart';

CREATE FUNCTION @extschema@.dp_explain_ranges(
        bins bigint, epsilon float8, delta float8 DEFAULT 0, workload text DEFAULT 'all',
        methods text[] DEFAULT NULL, branching int DEFAULT NULL)
    RETURNS TABLE (method text, branching int, mean_variance float8, max_variance float8, svd_ratio float8, chosen boolean)
    AS 'MODULE_PATHNAME', 'dp_explain_ranges_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION @extschema@.dp_explain_ranges(bigint, float8, float8, text, text[], int) IS
    'the exact variance of the answers of each method over a workload (all, prefix, nodes), for the noise as implemented, and which one auto takes. Reads no data, costs no budget';


-- Views of the catalog --------------------------------------------------------------------------

-- Owners see their datasets, grants and charges, grantees what they may use and spent; what was
-- released is for everyone.
CREATE VIEW dp.datasets WITH (security_barrier) AS
    WITH usable AS MATERIALIZED (
        SELECT d.*, o.owned
          FROM dp.dataset AS d
         CROSS JOIN LATERAL (SELECT pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE')) AS o (owned)
         WHERE d.dropped_at IS NULL
           AND (o.owned
                OR EXISTS (SELECT FROM dp.access AS a
                            WHERE a.dataset = d.id AND NOT a.revoked
                              AND pg_catalog.pg_has_role(dp.role(a.grantee, a.grantee_name), 'USAGE')))
    ), behind AS MATERIALIZED (
        SELECT d.id, t.relation FROM dp.dataset AS d CROSS JOIN LATERAL dp.tables_behind(d.entities) AS t (relation)
    )
    SELECT u.name, u.owner::regrole AS owner, u.entities::regclass AS entities, u.groups::regclass AS groups, u.group_key, u.hierarchy, u.size_column,
           u.privacy_unit, u.max_rows_per_unit, b.epsilon_budget, b.epsilon_spent, b.epsilon_left,
           b.delta_budget, b.delta_spent, b.releases, u.created_at,
           pg_catalog.trim_scale(u.smallest_charge) AS smallest_charge,
           -- what was restored has other numbers, until its owner confirms it, but the same name
           ARRAY(SELECT DISTINCT o.name || CASE WHEN o.dropped_at IS NULL THEN '' ELSE ' (dropped)' END
                   FROM dp.dataset AS o
                  WHERE o.id <> u.id AND (o.dropped_at IS NULL OR o.releases > 0)
                    AND (u.owned OR o.id IN (SELECT v.id FROM usable AS v))
                    AND (o.entities_name = u.entities_name
                         OR o.id IN (SELECT h.id FROM behind AS h
                                      WHERE h.relation IN (SELECT i.relation FROM behind AS i WHERE i.id = u.id)))
                  ORDER BY 1) AS shares_rows_with
      FROM usable AS u CROSS JOIN LATERAL @extschema@.dp_budget(u.name) AS b;
COMMENT ON VIEW dp.datasets IS 'the datasets that you own or may release from, and what is spent of their budgets';
COMMENT ON COLUMN dp.datasets.smallest_charge IS
    'the least epsilon of a release by a role with a grant; dp_set_smallest_charge sets it';
COMMENT ON COLUMN dp.datasets.shares_rows_with IS
    'the other datasets whose private table has rows of this one''s, dropped ones from which something was released included: what is spent of all of them adds up. Who does not own this one sees only those that they may use';

CREATE VIEW dp.grants WITH (security_barrier) AS
    SELECT d.name AS dataset, a.grantee::regrole AS grantee, a.epsilon_limit, a.epsilon_spent, a.granted_at, a.granted_by
      FROM dp.access AS a JOIN dp.dataset AS d ON d.id = a.dataset
     WHERE d.dropped_at IS NULL AND NOT a.revoked
       AND (pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE')
            OR pg_catalog.pg_has_role(dp.role(a.grantee, a.grantee_name), 'USAGE'));
COMMENT ON VIEW dp.grants IS 'which roles may release from your datasets, up to which epsilon, and what they spent';

CREATE VIEW dp.ledger WITH (security_barrier) AS
    SELECT c.id, c.charged_at AS "when", c.charged_by AS who, d.name AS dataset, c.function,
           c.epsilon, c.delta, c.parameters, c.rho, c.epoch, c.hash
      FROM dp.charge AS c JOIN dp.dataset AS d ON d.id = c.dataset
     WHERE pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE');
COMMENT ON VIEW dp.ledger IS
    'every charge to the budget of a dataset that you own or owned: when, by whom, for what';

CREATE VIEW dp.releases WITH (security_barrier) AS
    SELECT d.name AS dataset, r.name, r.released_at, c.epsilon, c.delta, r.parameters,
           (SELECT count(*) FROM dp.release_region AS g WHERE g.release = r.id) AS regions
      FROM dp.release AS r
      JOIN dp.dataset AS d ON d.id = r.dataset
      JOIN dp.charge AS c ON c.id = r.charge
     WHERE d.dropped_at IS NULL;
COMMENT ON VIEW dp.releases IS 'releases that were stored under a name, with the parameters they were made with';

CREATE VIEW dp.release_rows WITH (security_barrier) AS
    SELECT d.name AS dataset, r.name AS release, pg_catalog.cardinality(g.path) AS level, g.path,
           h.size, h.groups
      FROM dp.release AS r
      JOIN dp.dataset AS d ON d.id = r.dataset
      JOIN dp.release_region AS g ON g.release = r.id
     CROSS JOIN LATERAL @extschema@.dp_unnest(g.histogram) AS h
     WHERE d.dropped_at IS NULL;
COMMENT ON VIEW dp.release_rows IS 'the rows of all stored releases, for dashboards';

-- How far long functions have come (progress.rs).
CREATE FUNCTION dp.backend_progress()
    RETURNS TABLE (pid int, datid oid, function text, dataset bigint, phase text, level int, levels int, done bigint, total bigint)
    AS 'MODULE_PATHNAME', 'dp_backend_progress_wrapper' LANGUAGE C STABLE PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION dp.backend_progress() IS 'behind the view dp.progress, which explains the columns';

CREATE VIEW dp.progress WITH (security_barrier) AS
    SELECT p.pid, d.datname, p.function, s.name AS dataset, p.phase, p.level, p.levels, p.done, p.total,
           p.done::float8 / p.total AS share
      FROM dp.backend_progress() AS p
      JOIN pg_catalog.pg_database AS d ON d.oid = p.datid
      LEFT JOIN dp.dataset AS s ON s.id = p.dataset AND d.datname = pg_catalog.current_database();
COMMENT ON VIEW dp.progress IS
    'functions of pg_dp that run now, in any database, and how far they have come; for the sessions of roles whose rights you do not have only pid and datname, unless you are a member of pg_read_all_stats';
COMMENT ON COLUMN dp.progress.pid IS 'the process of the session, as in pg_stat_activity';
COMMENT ON COLUMN dp.progress.datname IS 'its database';
COMMENT ON COLUMN dp.progress.function IS 'which function runs';
COMMENT ON COLUMN dp.progress.dataset IS 'the dataset of this database that it releases from, if any';
COMMENT ON COLUMN dp.progress.phase IS
    'checking (arguments and what is public), planning, simulating, charging, reading, measuring (with the noise), making consistent or storing';
COMMENT ON COLUMN dp.progress.level IS 'the level of the hierarchy that is measured now, 0 for the root; the first one of those that are measured together';
COMMENT ON COLUMN dp.progress.levels IS 'how many levels there are';
COMMENT ON COLUMN dp.progress.done IS
    'how many regions are measured, or matched with their children; for one histogram, blocks of 16,384 numbers; rounds that are simulated';
COMMENT ON COLUMN dp.progress.total IS 'how many of these the phase has; NULL where that is not known. Nothing tells how many rows were read';
COMMENT ON COLUMN dp.progress.share IS 'done / total: how much of the phase is done, from 0 to 1';

GRANT SELECT ON dp.datasets, dp.grants, dp.ledger, dp.releases, dp.release_rows, dp.progress TO PUBLIC;


-- Ways around pg_dp -----------------------------------------------------------------------------

-- Nearly everything that leads to private rows has an owner and a list of grants. So all of it is
-- brought into one form (thing), and two branches at the end report who owns it or was granted it.
--
-- Listed are functions rather than the views over them (pg_stat_all_tables, pg_locks, ...): whoever
-- queries a view needs the privilege on the functions in it. Not listed is what opens nothing:
-- BYPASSRLS (datasets have no row-level security), pg_signal_backend, pg_checkpoint, and the functions
-- of pageinspect, pgrowlocks and pg_prewarm, which check for themselves whom they serve. Nor what nothing
-- closes: the numbers of transactions and of new objects, which show in every row and object that a role makes.
--
-- Every remedy can be executed as it is; where no statement helps it is a comment. What was revoked
-- from PUBLIC can be granted to the roles that need it, such as pg_monitor.
CREATE FUNCTION @extschema@.dp_check_privileges(role regrole)
    RETURNS TABLE (dataset text, hole text, object text, remedy text)
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    analyst CONSTANT oid := role;
    version CONSTANT int := pg_catalog.current_setting('server_version_num')::int;
    relations CONSTANT oid := 'pg_catalog.pg_class'::regclass;
    rules CONSTANT oid := 'pg_catalog.pg_rewrite'::regclass;
    constraints CONSTANT oid := 'pg_catalog.pg_constraint'::regclass;
    types CONSTANT oid := 'pg_catalog.pg_type'::regclass;
    functions CONSTANT oid := 'pg_catalog.pg_proc'::regclass;
    extensions CONSTANT oid := 'pg_catalog.pg_extension'::regclass;
    servers CONSTANT oid := 'pg_catalog.pg_foreign_server'::regclass;
    databases CONSTANT oid := 'pg_catalog.pg_database'::regclass;
    schemas CONSTANT oid := 'pg_catalog.pg_namespace'::regclass;
    settings CONSTANT oid := 'pg_catalog.pg_parameter_acl'::regclass;
BEGIN
    IF analyst IS NULL THEN
        RAISE 'role must not be NULL' USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the role to check.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.oid = analyst) THEN
        RAISE 'role with OID % does not exist', analyst
            USING ERRCODE = 'undefined_object', HINT = 'The view pg_roles lists the roles.';
    END IF;

    -- To a superuser everything is open; a list of it all would only hide that.
    IF (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.oid = analyst) THEN
        RETURN QUERY
            SELECT d.name, 'superuser', analyst::regrole::text,
                   pg_catalog.format('ALTER ROLE %s NOSUPERUSER', analyst::regrole)
              FROM dp.datasets AS d WHERE pg_catalog.pg_has_role(d.owner::oid, 'USAGE') ORDER BY d.name;
        RETURN;
    END IF;

    RETURN QUERY
    WITH RECURSIVE owned AS MATERIALIZED (
        SELECT d.name, d.owner::oid AS owner, d.entities::oid AS entities, d.groups::oid AS groups
          FROM dp.datasets AS d WHERE pg_catalog.pg_has_role(d.owner::oid, 'USAGE')
    ), checked AS (
        SELECT * FROM owned AS d WHERE d.owner <> analyst
    ),

    -- Whose rights the role has or can take, and the statements that end that. MEMBER, not USAGE: who does
    -- not inherit can SET ROLE, and who only administers a membership can grant it to itself in full.
    reachable AS (
        SELECT r.oid, r.oid::regrole::text AS name, r.rolsuper, r.rolcreaterole, r.rolreplication,
               CASE WHEN r.oid <> analyst THEN coalesce(
                   (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.format(
                               'REVOKE %s FROM %s%s', m.roleid::regrole, analyst::regrole,
                               CASE WHEN version >= 160000 THEN ' GRANTED BY ' || m.grantor::regrole END), '; ')
                      FROM pg_catalog.pg_auth_members AS m
                     WHERE m.member = analyst AND pg_catalog.pg_has_role(m.roleid, r.oid, 'MEMBER')),
                   '-- the owner of the database is a member: give the database another owner') -- pg_database_owner
               END AS leave
          FROM pg_catalog.pg_roles AS r WHERE pg_catalog.pg_has_role(analyst, r.oid, 'MEMBER')
    ), predefined (name, power) AS (VALUES
        ('pg_read_all_data', 'reads every table'),
        ('pg_write_all_data', 'writes every table, also the ledger'),
        ('pg_read_all_stats', 'sees the statements of other sessions'),
        ('pg_monitor', 'sees the sizes of temporary files'),
        ('pg_stat_scan_tables', 'may use extensions that count rows'),
        ('pg_read_server_files', 'reads the files of the server'),
        ('pg_write_server_files', 'writes the files of the server'),
        ('pg_execute_server_program', 'runs programs as the server'),
        ('pg_maintain', 'may VACUUM VERBOSE, which counts rows')
    ), holder AS ( -- what superusers and predefined roles hold is reported as membership in them
        SELECT 0::oid AS oid, 'PUBLIC' AS name
        UNION ALL
        SELECT r.oid, r.name FROM reachable AS r
         WHERE NOT r.rolsuper AND r.name NOT IN (SELECT p.name FROM predefined AS p)
    ),

    own_function (oid, name) AS (
        SELECT p.oid, p.proname
          FROM pg_catalog.pg_extension AS x
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = extensions AND e.refobjid = x.oid AND e.deptype = 'e'
          JOIN pg_catalog.pg_proc AS p ON e.classid = functions AND p.oid = e.objid
         WHERE x.extname = 'pg_dp'
    ),

    -- Schemas through which calls of pg_dp's functions go: a function of the same name whose types match better
    -- takes them. The default search_path begins with a schema named like the role that calls.
    passed (dataset, owner, schema, heir) AS (
        SELECT d.name, d.owner, n.oid, x.extowner
          FROM checked AS d JOIN pg_catalog.pg_extension AS x ON x.extname = 'pg_dp'
          JOIN pg_catalog.pg_namespace AS n
               ON n.oid = x.extnamespace OR n.nspname IN ('dp', pg_catalog.pg_get_userbyid(d.owner))
    ),

    -- Relations with private rows: 1 the declared table, 2 its partitions and children, 3 what it was made
    -- from if it is a materialized view; and 4 what reads from these: parents, views, materialized views.
    invoker_view AS (
        SELECT c.oid FROM pg_catalog.pg_class AS c CROSS JOIN LATERAL pg_catalog.pg_options_to_table(c.reloptions) AS o
         WHERE c.relkind = 'v' AND CASE o.option_name WHEN 'security_invoker' THEN o.option_value::boolean END
    ), reach (dataset, relid, part) AS (
        SELECT d.name, d.entities, 1 FROM checked AS d
        UNION
        SELECT r.dataset, next.relid, next.part
          FROM reach AS r JOIN checked AS d ON d.name = r.dataset CROSS JOIN LATERAL (
            SELECT i.inhrelid AS relid, greatest(r.part, 2) AS part
              FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = r.relid AND r.part < 4
            UNION ALL
            SELECT i.inhparent, 4 FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = r.relid
            UNION ALL -- a view reads with the rights of its owner, who may have none, or of its reader
            SELECT v.oid, 4
              FROM pg_catalog.pg_depend AS e
              JOIN pg_catalog.pg_rewrite AS w ON e.classid = rules AND e.objid = w.oid AND w.ev_type = '1'
              JOIN pg_catalog.pg_class AS v ON v.oid = w.ev_class AND v.oid <> r.relid
             WHERE e.refclassid = relations AND e.refobjid = r.relid
               AND (v.relkind = 'm' OR v.oid IN (SELECT i.oid FROM invoker_view AS i)
                    OR pg_catalog.has_any_column_privilege(v.relowner, r.relid, 'SELECT'))
            UNION ALL
            SELECT e.refobjid, 3
              FROM pg_catalog.pg_rewrite AS w JOIN pg_catalog.pg_depend AS e ON e.classid = rules AND e.objid = w.oid
             WHERE w.ev_class = r.relid AND w.ev_type = '1' AND r.part < 4
               AND e.refclassid = relations AND e.refobjid <> r.relid AND e.refobjid IS DISTINCT FROM d.groups
        ) AS next
    ), private AS (
        SELECT r.dataset, r.relid, min(r.part) AS part
          FROM reach AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.relid GROUP BY r.dataset, r.relid
    ),

    -- What sees the rows or counts them: functions called by triggers, defaults, checks, indexes, rules and
    -- partition keys, sequences, domains, foreign servers.
    column_type (dataset, typid) AS (
        SELECT p.dataset, a.atttypid FROM private AS p JOIN pg_catalog.pg_attribute AS a ON a.attrelid = p.relid
        UNION
        SELECT c.dataset, part FROM column_type AS c JOIN pg_catalog.pg_type AS t ON t.oid = c.typid
         CROSS JOIN LATERAL pg_catalog.unnest(ARRAY[t.typelem, t.typbasetype]) AS part WHERE part <> 0
    ), belonging (dataset, classid, objid) AS (
        SELECT p.dataset, relations, p.relid FROM private AS p
        UNION
        SELECT p.dataset, e.classid, e.objid
          FROM private AS p JOIN pg_catalog.pg_depend AS e ON e.refclassid = relations AND e.refobjid = p.relid
        UNION
        SELECT t.dataset, e.classid, e.objid
          FROM column_type AS t JOIN pg_catalog.pg_depend AS e ON e.refclassid = types AND e.refobjid = t.typid
         WHERE e.classid = constraints
    ), used (dataset, classid, objid) AS (
        TABLE belonging
        UNION
        SELECT b.dataset, e.refclassid, e.refobjid
          FROM belonging AS b JOIN pg_catalog.pg_depend AS e ON e.classid = b.classid AND e.objid = b.objid
    ),

    -- What foreign keys of the private table refer to, and what reads or changes these tables as its children.
    referred (dataset, relid) AS (
        SELECT p.dataset, k.confrelid
          FROM private AS p JOIN pg_catalog.pg_constraint AS k ON k.conrelid = p.relid AND k.contype = 'f'
         WHERE p.part < 4 AND k.conrelid <> k.confrelid
        UNION
        SELECT r.dataset, i.inhparent FROM referred AS r JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = r.relid
    ),

    -- Relations that tell something, to their owner or to whoever has one of the privileges; NULL for any.
    relation (dataset, what, relid, privileges, for_owner) AS (
        -- Besides SELECT: INSERT and UPDATE meet constraints, REFERENCES makes one, UPDATE and DELETE count
        -- rows, a TRIGGER sees them, MAINTAIN allows VACUUM VERBOSE. Owning a view opens nothing.
        SELECT p.dataset, (ARRAY['the private table', 'a part of the private table',
                                 'a source of the private table', 'a relation that reads the private table'])[p.part],
               p.relid, NULL::text[], c.relkind <> 'v'
          FROM private AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.relid
         WHERE c.oid NOT IN (SELECT i.oid FROM invoker_view AS i)
        UNION ALL -- a sequence that a column owns has the owner of the table
        SELECT u.dataset, 'a sequence of the private table', c.oid, NULL,
               NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS e WHERE e.classid = relations AND e.objid = c.oid
                              AND e.refclassid = relations AND e.deptype IN ('a', 'i'))
          FROM used AS u JOIN pg_catalog.pg_class AS c ON u.classid = relations AND c.oid = u.objid AND c.relkind = 'S'
        UNION ALL -- errors of a foreign key tell whether a key occurs
        SELECT p.dataset, 'a table whose foreign key refers to the private table', k.conrelid,
               ARRAY['INSERT', 'UPDATE'], true
          FROM private AS p JOIN pg_catalog.pg_constraint AS k ON k.confrelid = p.relid AND k.contype = 'f'
         WHERE p.part < 4 AND k.conrelid <> k.confrelid
        UNION ALL
        SELECT r.dataset, 'a table that the private table refers to', r.relid, ARRAY['UPDATE', 'DELETE'], true
          FROM referred AS r
        UNION ALL -- see withheld; a view reads it with the rights of its owner
        SELECT r.dataset, 'a view of xmax of a table that the private table refers to', w.ev_class, ARRAY['SELECT'], false
          FROM referred AS r
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = relations AND e.refobjid = r.relid
          JOIN pg_catalog.pg_attribute AS a ON a.attrelid = r.relid AND a.attnum = e.refobjsubid AND a.attname = 'xmax'
          JOIN pg_catalog.pg_rewrite AS w ON e.classid = rules AND e.objid = w.oid AND w.ev_type = '1'
        UNION ALL -- a rule acts with the rights of the owner of its relation
        SELECT p.dataset, 'a relation with a rule that uses the private table', w.ev_class,
               ARRAY[CASE w.ev_type WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END], true
          FROM private AS p
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = relations AND e.refobjid = p.relid
          JOIN pg_catalog.pg_rewrite AS w ON e.classid = rules AND e.objid = w.oid AND w.ev_type <> '1'
         WHERE w.ev_class <> p.relid
        UNION ALL
        SELECT NULL, 'the ledger', c.oid, ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER'], true
          FROM pg_catalog.pg_class AS c WHERE c.relnamespace = 'dp'::regnamespace AND c.relkind = 'r'
        UNION ALL -- values and histograms; the view pg_stats shows them to those who may read the column
        SELECT NULL, 'the statistics of the planner', s.relid, ARRAY['SELECT'], false
          FROM (VALUES ('pg_catalog.pg_statistic'::regclass), ('pg_catalog.pg_statistic_ext_data')) AS s (relid)
        UNION ALL -- these show them to the owner of the table, unless the cluster is of before 15.7 or 16.3
        SELECT p.dataset, 'extended statistics that everybody sees here (CVE-2024-4317)', v.relid,
               ARRAY['SELECT'], false
          FROM private AS p JOIN pg_catalog.pg_statistic_ext AS x ON x.stxrelid = p.relid
         CROSS JOIN (VALUES ('pg_catalog.pg_stats_ext'::regclass), ('pg_catalog.pg_stats_ext_exprs')) AS v (relid)
         WHERE pg_catalog.pg_get_viewdef(v.relid) NOT LIKE '%pg_has_role(c.relowner%'
    ),

    -- Columns that tell something, of relations that otherwise may be read.
    withheld (dataset, what, relid, columns) AS (
        -- the last two move when autovacuum found enough changes
        SELECT NULL, 'the row and page counts of all relations', relations, '^rel(tuples|pages|all|frozenxid|minmxid)'
        UNION ALL -- whoever inserts a row locks the one that it refers to, and leaves its transaction there
        SELECT r.dataset, 'a table that the private table refers to, where xmax tells which rows new ones refer to',
               r.relid, '^xmax$'
          FROM referred AS r
    ),

    -- Functions that tell something. Those of pg_catalog by what they return: any number from the statistics,
    -- any position in the write-ahead log that is not computed from the arguments. But some check for
    -- themselves whom they serve, those of replication slots too, and some number the sessions themselves.
    revealing (dataset, what, proc) AS (
        SELECT NULL, CASE
                   WHEN p.proname ~ '^pg_stat_get_(activity|progress_info|wal_receiver|wal_senders)$'
                        OR p.proname ~ '^pg_stat_get_backend_(pid|idset|client_port)$' THEN NULL
                   WHEN p.proargtypes = '26' AND p.proname ~ '^pg_stat_get_(?!db_|subscription)'
                       THEN 'a function that counts the rows of a table, or scans and changes of it'
                   WHEN p.proname ~ '^pg_stat_get_' AND (p.proargtypes = '26' OR p.prorettype || p.proallargtypes
                            && '{int4,int8,float8,numeric}'::regtype[]::oid[])
                        OR p.proname = 'pg_notification_queue_usage'
                       THEN 'a function that counts what the sessions read, write and do'
                   WHEN p.proname = 'pg_wal_summary_contents'
                       THEN 'a function that tells which pages were changed'
                   WHEN p.provolatile <> 'i' AND 'pg_lsn'::regtype = ANY (p.prorettype || p.proallargtypes)
                        AND p.proname !~ '_slot(_|$)'
                        OR p.proname = 'pg_control_system' -- when the last checkpoint was, which much writing brings on
                       THEN 'a function that tells how much was written'
                   WHEN p.proname ~ '^pg_(relation|table|indexes|total_relation|database|tablespace)_size$'
                       THEN 'a function that tells sizes'
                   WHEN p.proname = 'pg_lock_status'
                       THEN 'a function that tells which rows and pages are locked'
                   WHEN p.proname ~ '_blocking_pids$|_session_is_blocked$'
                       THEN 'a function that tells which sessions wait for each other'
                   WHEN p.proname IN ('pg_read_file', 'pg_read_binary_file', 'pg_stat_file', 'pg_ls_dir',
                                      'pg_ls_tmpdir', 'lo_import', 'lo_export')
                       THEN 'a function that uses the files of the server'
               END, p.oid
          FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace
        UNION ALL
        SELECT NULL, 'a function of the extension ' || x.extname || ', which reads with the rights of the server', p.oid
          FROM pg_catalog.pg_extension AS x
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = extensions AND e.refobjid = x.oid AND e.deptype = 'e'
          JOIN pg_catalog.pg_proc AS p ON e.classid = functions AND p.oid = e.objid
         WHERE x.extname IN ('pgstattuple', 'pg_visibility', 'pg_freespacemap', 'pg_buffercache', 'pg_walinspect',
                             'pg_logicalinspect', 'amcheck') AND p.proname !~ 'evict' -- which asks for a superuser
            OR (x.extname, p.proname) IN (('pg_stat_statements', 'pg_stat_statements'),
                                          ('dblink', 'dblink_connect_u'), ('adminpack', 'pg_file_write'))
        UNION ALL -- sizes, statements of others, commands on other nodes; not what returns nothing or yes or no,
                  -- what is computed from the arguments, nor what Citus itself calls in the session of any role
        SELECT NULL, 'a function of the extension ' || x.extname || ', which tells or fetches what lies on the nodes', p.oid
          FROM pg_catalog.pg_extension AS x
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = extensions AND e.refobjid = x.oid AND e.deptype = 'e'
          JOIN pg_catalog.pg_proc AS p ON e.classid = functions AND p.oid = e.objid
         WHERE x.extname IN ('citus', 'citus_columnar') AND p.provolatile <> 'i'
           AND NOT 'internal'::regtype = ANY (p.proargtypes)
           AND (p.prorettype NOT IN ('void'::regtype, 'bool'::regtype, 'event_trigger'::regtype, 'trigger'::regtype)
                OR p.proname ~ '_update_(shard|table)_statistics$')
           AND p.proname !~ ('^(any_value|citus_jsonb?_concatenate|column_|get_current_transaction|get_shard_id_for|'
                             'shard_name$|citus_(backend_gpid|calculate_gpid|coordinator_nodeid|drop_all_shards|version)$|'
                             'citus_.*_for_(gpid|nodeid)$|(broadcast|create|fetch|read)_intermediate_results?$|'
                             'worker_(hash|last_saved_explain|nextval|partition_query_result|save_query_explain))')
        UNION ALL -- what it reads only its body tells; those of pg_dp are fine
        SELECT d.name, 'a SECURITY DEFINER function whose owner may read the private table', p.oid
          FROM checked AS d JOIN pg_catalog.pg_class AS c ON c.oid = d.entities
          JOIN pg_catalog.pg_proc AS p ON pg_catalog.has_any_column_privilege(p.proowner, c.oid, 'SELECT')
         WHERE p.prosecdef AND p.oid NOT IN (SELECT o.oid FROM own_function AS o)
    ),

    -- All in one form. No dataset: it concerns every one. further: what has to follow the REVOKE.
    thing (dataset, what, classid, objid, columns, acl, privileges, owner, for_owner, further) AS (
        SELECT r.dataset, r.what, relations, c.oid, '', c.relacl, r.privileges, c.relowner, r.for_owner, ''
          FROM relation AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.relid
        UNION ALL
        SELECT r.dataset, 'a column of ' || r.what, relations, c.oid, pg_catalog.format(' (%I)', a.attname),
               a.attacl, r.privileges, c.relowner, false, ''
          FROM relation AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.relid
          JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND NOT a.attisdropped
        UNION ALL -- as a privilege on a table covers its columns, it has to be granted anew on the other ones. The
                  -- server does not need reltuples, relpages, some clients do (pg_dump, JDBC's getIndexInfo).
        SELECT w.dataset, w.what, relations, c.oid, '', c.relacl, ARRAY['SELECT'], c.relowner, false,
               pg_catalog.replace((
                   SELECT pg_catalog.format('; GRANT SELECT (%s) ON TABLE %I.%I TO ',
                                            pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ' ORDER BY a.attnum),
                                            n.nspname, c.relname)
                     FROM pg_catalog.pg_attribute AS a
                    WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname !~ w.columns), '%', '%%') || '%s'
          FROM withheld AS w JOIN pg_catalog.pg_class AS c ON c.oid = w.relid
          JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        UNION ALL
        SELECT w.dataset, w.what, relations, c.oid, pg_catalog.format(' (%I)', a.attname), a.attacl, ARRAY['SELECT'],
               c.relowner, false, ''
          FROM withheld AS w JOIN pg_catalog.pg_class AS c ON c.oid = w.relid
          JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attname ~ w.columns
        UNION ALL
        SELECT f.dataset, f.what, functions, p.oid, '', coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)),
               ARRAY['EXECUTE'], p.proowner, false, ''
          FROM revealing AS f JOIN pg_catalog.pg_proc AS p ON p.oid = f.proc WHERE f.what IS NOT NULL
        UNION ALL -- whose owner can replace it by one that passes the rows on
        SELECT u.dataset, 'a function that runs on rows of the private table', functions, p.oid, '', NULL, NULL,
               p.proowner, true, ''
          FROM used AS u JOIN pg_catalog.pg_proc AS p ON u.classid = functions AND p.oid = u.objid
        UNION ALL -- whose owner can add a check, which the server runs on all values of the type, in every table
        SELECT c.dataset, 'a domain of the private table', types, t.oid, '', NULL, NULL, t.typowner, true, ''
          FROM column_type AS c JOIN pg_catalog.pg_type AS t ON t.oid = c.typid AND t.typtype = 'd'
        UNION ALL -- with which one can make a foreign table of one's own
        SELECT u.dataset, 'the foreign server of the private table', servers, s.oid, '', s.srvacl, ARRAY['USAGE'],
               s.srvowner, true, ''
          FROM used AS u JOIN pg_catalog.pg_foreign_server AS s ON u.classid = servers AND s.oid = u.objid
        UNION ALL -- a query is planned, and debug_print_plan prints that with estimates from the planner's
                  -- statistics, before the privileges on its tables are checked; those on a schema come first
        SELECT DISTINCT p.dataset, 'the schema of the private table: plans with estimates can be printed', schemas,
               n.oid, '', n.nspacl, ARRAY['USAGE'], n.nspowner, true,
               CASE WHEN n.nspname = 'public' OR n.oid = (SELECT x.extnamespace FROM pg_catalog.pg_extension AS x WHERE x.extname = 'pg_dp') THEN ' -- or have the table in another schema, which is better' ELSE '' END
          FROM private AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.relid AND p.part < 4
          JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        UNION ALL
        SELECT s.dataset, 'a schema where functions of pg_dp are looked up', schemas, n.oid, '', n.nspacl,
               ARRAY['CREATE'], n.nspowner, false, ''
          FROM passed AS s JOIN pg_catalog.pg_namespace AS n ON n.oid = s.schema
        UNION ALL
        SELECT NULL, 'the database: functions of pg_dp are also looked up in a schema named like the caller', databases,
               d.oid, '', d.datacl, ARRAY['CREATE'], d.datdba, false, ''
          FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()
        UNION ALL -- such as what is logged and which libraries are loaded
        SELECT NULL, 'a setting that is reserved to superusers', settings, s.oid, '', s.paracl, NULL, 10, false, ''
          FROM pg_catalog.pg_parameter_acl AS s
        UNION ALL
        SELECT NULL, 'the database, who may VACUUM VERBOSE, which counts rows', databases, d.oid, '', NULL, NULL,
               d.datdba, true, ''
          FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()
        UNION ALL
        SELECT NULL, 'another database, where the counters of this one can be read', databases, d.oid, '',
               coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba)), ARRAY['CONNECT'], d.datdba, false,
               ' -- or revoke there, too, EXECUTE on the functions that count'
          FROM pg_catalog.pg_database AS d WHERE d.datname <> pg_catalog.current_database() AND d.datallowconn
    ), named AS (
        SELECT d.name, d.owner AS dataset_owner, t.*, i.identity,
               CASE i.type
                   WHEN 'sequence' THEN 'SEQUENCE ' WHEN 'function' THEN 'FUNCTION ' WHEN 'procedure' THEN 'PROCEDURE '
                   WHEN 'type' THEN 'DOMAIN ' WHEN 'server' THEN 'FOREIGN SERVER ' WHEN 'database' THEN 'DATABASE ' WHEN 'schema' THEN 'SCHEMA '
                   WHEN 'parameter ACL' THEN 'PARAMETER ' ELSE 'TABLE '
               END || i.identity AS target
          FROM checked AS d JOIN thing AS t ON d.name = coalesce(t.dataset, d.name)
         CROSS JOIN LATERAL pg_catalog.pg_identify_object(t.classid, t.objid, 0) AS i
    )

    SELECT DISTINCT found.* FROM (
        SELECT d.name, 'owner of the dataset', d.owner::regrole::text,
               '-- it declared the dataset: have a role do that which no analyst is a member of'
          FROM owned AS d WHERE d.owner = analyst
        UNION ALL
        SELECT d.name, 'member of the owner of the dataset', r.name, r.leave
          FROM checked AS d JOIN reachable AS r ON r.oid = d.owner
        UNION ALL
        SELECT d.name, pg_catalog.format('member of %s, which %s', r.name, p.power), r.name, r.leave
          FROM checked AS d CROSS JOIN reachable AS r JOIN predefined AS p ON p.name = r.name
        UNION ALL -- attributes are not inherited, but SET ROLE leads to them
        SELECT d.name, a.hole, r.name, coalesce(r.leave, pg_catalog.format('ALTER ROLE %s %s', r.name, a.change))
          FROM checked AS d CROSS JOIN reachable AS r CROSS JOIN LATERAL (VALUES
            ('member of a superuser', r.rolsuper, NULL),
            ('REPLICATION, which copies the whole server', r.rolreplication AND NOT r.rolsuper, 'NOREPLICATION'),
            ('CREATEROLE, which before PostgreSQL 16 can give itself any role that is no superuser',
             r.rolcreaterole AND NOT r.rolsuper AND version < 160000, 'NOCREATEROLE')
          ) AS a (hole, applies, change) WHERE a.applies
        UNION ALL
        SELECT t.name, 'owner of ' || t.what, t.identity,
               coalesce(r.leave, pg_catalog.format('ALTER %s OWNER TO %s', pg_catalog.replace(t.target, 'FOREIGN ', ''),
                                                   t.dataset_owner::regrole))
          FROM named AS t JOIN reachable AS r ON r.oid = t.owner
         WHERE t.for_owner AND NOT r.rolsuper AND r.oid <> t.dataset_owner
        UNION ALL
        SELECT s.dataset, 'owner of a schema where functions of pg_dp are looked up', n.nspname,
               coalesce(r.leave, pg_catalog.format('ALTER SCHEMA %I OWNER TO %s', n.nspname, s.heir::regrole))
          FROM passed AS s JOIN pg_catalog.pg_namespace AS n ON n.oid = s.schema
          JOIN reachable AS r ON r.oid = n.nspowner AND NOT r.rolsuper AND r.oid <> s.owner
        UNION ALL -- made while the role had CREATE, or by an owner of the schema
        SELECT s.dataset, 'owner of a function named like one of pg_dp', i.identity, 'DROP ROUTINE ' || i.identity
          FROM passed AS s JOIN pg_catalog.pg_proc AS p ON p.pronamespace = s.schema
          JOIN reachable AS r ON r.oid = p.proowner AND NOT r.rolsuper AND r.oid <> s.owner
         CROSS JOIN LATERAL pg_catalog.pg_identify_object(functions, p.oid, 0) AS i
         WHERE p.proname IN (SELECT o.name FROM own_function AS o) AND p.oid NOT IN (SELECT o.oid FROM own_function AS o)
        UNION ALL -- a grant by somebody who had the grant option is revoked in that role
        SELECT t.name, g.privilege_type || ' on ' || t.what, t.identity || t.columns,
               pg_catalog.format(CASE WHEN g.grantor = t.owner THEN '%2$s' ELSE 'SET ROLE %1$s; %2$s; RESET ROLE' END,
                   g.grantor::regrole,
                   pg_catalog.format('REVOKE %s%s ON %s FROM %s%s', g.privilege_type, t.columns, t.target, h.name,
                                     CASE WHEN g.is_grantable THEN ' CASCADE' END))
                   || pg_catalog.format(t.further, h.name)
          FROM named AS t CROSS JOIN LATERAL pg_catalog.aclexplode(t.acl) AS g JOIN holder AS h ON h.oid = g.grantee
         WHERE g.grantee NOT IN (t.owner, t.dataset_owner)
           AND (t.privileges IS NULL OR g.privilege_type = ANY (t.privileges))
    ) AS found ORDER BY 1, 2, 3, 4;
END $$;
COMMENT ON FUNCTION @extschema@.dp_check_privileges(regrole) IS
    'by which privileges a role could learn about private rows of your datasets around pg_dp, each with a statement that takes it away';
