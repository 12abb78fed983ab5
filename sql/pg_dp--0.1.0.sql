\echo Use "CREATE EXTENSION pg_dp" to load this file. \quit

-- Public types and functions go to the schema that CREATE EXTENSION names; the catalog (datasets,
-- ledger, stored releases) lies in schema dp. Functions that read the catalog or private tables pin
-- their search_path; all are written in Rust, in the files of src/pg/ that the headings name.


-- Types (types.rs) ------------------------------------------------------------------------------

CREATE TYPE coco;
CREATE FUNCTION coco_in(cstring) RETURNS coco
    AS 'MODULE_PATHNAME', 'coco_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION coco_out(coco) RETURNS cstring
    AS 'MODULE_PATHNAME', 'coco_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION coco_recv(internal) RETURNS coco
    AS 'MODULE_PATHNAME', 'coco_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION coco_send(coco) RETURNS bytea
    AS 'MODULE_PATHNAME', 'coco_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE coco (
    INPUT = coco_in, OUTPUT = coco_out, RECEIVE = coco_recv, SEND = coco_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);
COMMENT ON TYPE coco IS
    'exact count-of-counts histogram, CONFIDENTIAL: how many groups there are of each size; written {size:groups, ...}';
COMMENT ON FUNCTION coco_in(cstring) IS 'text input of coco';
COMMENT ON FUNCTION coco_out(coco) IS 'text output of coco';
COMMENT ON FUNCTION coco_recv(internal) IS 'binary input of coco';
COMMENT ON FUNCTION coco_send(coco) IS 'binary output of coco';

CREATE TYPE dp_coco;
CREATE FUNCTION dp_coco_in(cstring) RETURNS dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION dp_coco_out(dp_coco) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_coco_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION dp_coco_recv(internal) RETURNS dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION dp_coco_send(dp_coco) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_coco_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE dp_coco (
    INPUT = dp_coco_in, OUTPUT = dp_coco_out, RECEIVE = dp_coco_recv, SEND = dp_coco_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);
COMMENT ON TYPE dp_coco IS
    'released, differentially private count-of-counts histogram: how many groups there are of each size';
COMMENT ON FUNCTION dp_coco_in(cstring) IS 'text input of dp_coco';
COMMENT ON FUNCTION dp_coco_out(dp_coco) IS 'text output of dp_coco';
COMMENT ON FUNCTION dp_coco_recv(internal) IS 'binary input of dp_coco';
COMMENT ON FUNCTION dp_coco_send(dp_coco) IS 'binary output of dp_coco';

-- there is no cast between the two types, on purpose
CREATE FUNCTION coco_to_jsonb(coco) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'coco_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION coco_to_jsonb(coco) IS 'the histogram as {"size": groups, ...}; behind the cast';
CREATE CAST (coco AS jsonb) WITH FUNCTION coco_to_jsonb(coco);
COMMENT ON CAST (coco AS jsonb) IS '{"size": groups, ...}';
CREATE FUNCTION dp_coco_to_jsonb(dp_coco) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'dp_coco_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_coco_to_jsonb(dp_coco) IS 'the histogram as {"size": groups, ...}; behind the cast';
CREATE CAST (dp_coco AS jsonb) WITH FUNCTION dp_coco_to_jsonb(dp_coco);
COMMENT ON CAST (dp_coco AS jsonb) IS '{"size": groups, ...}';


-- Exact aggregates (aggregates.rs) --------------------------------------------------------------

CREATE FUNCTION coco_add(coco, size bigint) RETURNS coco
    AS 'MODULE_PATHNAME', 'coco_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION coco_add(coco, bigint) IS 'adds one group to a histogram';
CREATE FUNCTION coco_merge(coco, coco) RETURNS coco
    AS 'MODULE_PATHNAME', 'coco_merge_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION coco_merge(coco, coco) IS 'adds one histogram to another';

CREATE AGGREGATE coco_agg(size bigint) (
    SFUNC = coco_add, STYPE = coco, INITCOND = '{}', COMBINEFUNC = coco_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE coco_agg(bigint) IS
    'exact histogram of group sizes, one input row per group; NULL and negative sizes are errors';
CREATE AGGREGATE coco_agg(h coco) (
    SFUNC = coco_merge, STYPE = coco, INITCOND = '{}', COMBINEFUNC = coco_merge, PARALLEL = SAFE
);
COMMENT ON AGGREGATE coco_agg(coco) IS 'exact histogram of all the groups of several histograms';


-- Releases of one histogram (histogram.rs, aggregates.rs) ---------------------------------------

CREATE FUNCTION dp_coco_histogram(
        h coco, epsilon float8, max_size bigint DEFAULT 10000, method text DEFAULT 'auto',
        dataset text DEFAULT NULL)
    RETURNS dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp_coco_histogram(coco, float8, bigint, text, text) IS
    'releases a histogram with epsilon-differential privacy for one entity more or less; the number of groups is public; larger sizes count at max_size; charged to the dataset if one is named';

CREATE FUNCTION dp_coco_histogram_add(internal, size bigint, epsilon float8) RETURNS internal
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_add_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_coco_histogram_add(internal, bigint, float8) IS 'inside of the aggregate dp_coco_histogram';
CREATE FUNCTION dp_coco_histogram_add(internal, size bigint, epsilon float8, max_size bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_add_capped_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_coco_histogram_add(internal, bigint, float8, bigint) IS 'inside of the aggregate dp_coco_histogram';
CREATE FUNCTION dp_coco_histogram_add(internal, size bigint, epsilon float8, max_size bigint, method text) RETURNS internal
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_add_by_method_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_coco_histogram_add(internal, bigint, float8, bigint, text) IS 'inside of the aggregate dp_coco_histogram';
CREATE FUNCTION dp_coco_histogram_final(internal) RETURNS dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_histogram_final_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_coco_histogram_final(internal) IS 'inside of the aggregate dp_coco_histogram';

-- READ_WRITE: the final function, which draws the noise, runs once per state; no window function
CREATE AGGREGATE dp_coco_histogram(size bigint, epsilon float8) (
    SFUNC = dp_coco_histogram_add, STYPE = internal, FINALFUNC = dp_coco_histogram_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE
);
COMMENT ON AGGREGATE dp_coco_histogram(bigint, float8) IS
    'collects group sizes, one row per group, and releases their histogram in one step; NULL and negative sizes count as 0';
CREATE AGGREGATE dp_coco_histogram(size bigint, epsilon float8, max_size bigint) (
    SFUNC = dp_coco_histogram_add, STYPE = internal, FINALFUNC = dp_coco_histogram_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE
);
COMMENT ON AGGREGATE dp_coco_histogram(bigint, float8, bigint) IS
    'collects group sizes and releases their histogram in one step; larger sizes count at max_size';
CREATE AGGREGATE dp_coco_histogram(size bigint, epsilon float8, max_size bigint, method text) (
    SFUNC = dp_coco_histogram_add, STYPE = internal, FINALFUNC = dp_coco_histogram_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = UNSAFE
);
COMMENT ON AGGREGATE dp_coco_histogram(bigint, float8, bigint, text) IS
    'collects group sizes and releases their histogram in one step, by the named method';

-- CREATE AGGREGATE always writes "immutable". Volatile is the truth, and it is what keeps
-- postgres_fdw from sending the noise to another server and the planner from merging two calls.
UPDATE pg_catalog.pg_proc SET provolatile = 'v'
 WHERE oid IN ('@extschema@.dp_coco_histogram(bigint, float8)'::pg_catalog.regprocedure,
               '@extschema@.dp_coco_histogram(bigint, float8, bigint)'::pg_catalog.regprocedure,
               '@extschema@.dp_coco_histogram(bigint, float8, bigint, text)'::pg_catalog.regprocedure);


-- What a released histogram says (accessors.rs): free post-processing ---------------------------

CREATE FUNCTION dp_unnest(h dp_coco) RETURNS TABLE (size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_unnest_coco_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 100;
COMMENT ON FUNCTION dp_unnest(dp_coco) IS 'the histogram as rows, sizes ascending, none with 0 groups';
CREATE FUNCTION dp_groups(h dp_coco) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_groups_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_groups(dp_coco) IS 'the number of groups';
CREATE FUNCTION dp_entities(h dp_coco) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_entities_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_entities(dp_coco) IS 'the number of entities in all groups';
CREATE FUNCTION dp_quantile(h dp_coco, q float8) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_quantile_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_quantile(dp_coco, float8) IS
    'the smallest size that a share q of the groups does not exceed, 0 <= q <= 1; NULL without groups';
CREATE FUNCTION dp_mean_size(h dp_coco) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_mean_size_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_size(dp_coco) IS 'entities per group; NULL without groups';
CREATE FUNCTION dp_gini(h dp_coco) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_gini_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_gini(dp_coco) IS
    'Gini coefficient of the group sizes, 0 if all are equal; NULL without groups';
CREATE FUNCTION dp_emd(released dp_coco, exact coco) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_emd_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_emd(dp_coco, coco) IS
    'earth mover''s distance, how many entities the release is off by. CONFIDENTIAL: it is computed from exact data';


-- The catalog -----------------------------------------------------------------------------------

CREATE SCHEMA dp;
COMMENT ON SCHEMA dp IS 'pg_dp: datasets, budget ledger, stored releases';
REVOKE ALL ON SCHEMA dp FROM PUBLIC;
GRANT USAGE ON SCHEMA dp TO PUBLIC;

-- Columns are explained by the comments on the views, which are what users read.
CREATE TABLE dp.dataset (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    owner regrole NOT NULL,
    entities regclass NOT NULL,
    groups regclass,
    group_key text[] NOT NULL,
    hierarchy text[] NOT NULL,
    size_column text,
    privacy_unit text,
    max_rows_per_unit integer NOT NULL DEFAULT 1 CHECK (max_rows_per_unit > 0),
    fingerprint text NOT NULL, -- of the tables and columns as they were declared
    epsilon_budget numeric NOT NULL CHECK (epsilon_budget > 0),
    delta_budget numeric NOT NULL CHECK (delta_budget >= 0),
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
    grantee regrole NOT NULL,
    epsilon_limit numeric CHECK (epsilon_limit > 0),
    epsilon_spent numeric NOT NULL DEFAULT 0,
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
RETURN (SELECT concat_ws('/', s.system_identifier, c.timeline_id, d.oid, e.oid)
          FROM pg_catalog.pg_control_system() AS s, pg_catalog.pg_control_checkpoint() AS c,
               pg_catalog.pg_database AS d, pg_catalog.pg_extension AS e
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

CREATE FUNCTION dp_create_dataset(
        name text, entities regclass, group_key text[], hierarchy text[],
        groups regclass DEFAULT NULL, size_column text DEFAULT NULL,
        epsilon_budget float8 DEFAULT NULL, delta_budget float8 DEFAULT 0,
        privacy_unit text DEFAULT NULL, max_rows_per_unit integer DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_create_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp_create_dataset(text, regclass, text[], text[], regclass, text, float8, float8, text, integer) IS
    'declares a private table of entities, the key of the group that each belongs to, the hierarchy''s columns from the top level to the leaf (of the public table of groups where given), and the budget. Without a table of groups you declare the groups that occur to be public: that a group exists is then not protected. privacy_unit: the column that tells whose a row is; max_rows_per_unit of each unit''s rows are used, chosen at random for each release';

CREATE FUNCTION dp_confirm_dataset(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_confirm_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp_confirm_dataset(text) IS
    'the owner confirms that a dataset whose tables were changed since it was declared still means what it did';

CREATE FUNCTION dp_drop_dataset(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_drop_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp_drop_dataset(text) IS 'forgets a dataset; its ledger stays';

CREATE FUNCTION dp_grant(dataset text, role regrole, epsilon_limit float8 DEFAULT NULL) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_grant_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp_grant(text, regrole, float8) IS
    'lets a role release from a dataset whose tables it cannot read, up to epsilon_limit of the dataset''s budget; granting again changes the limit and keeps what was spent';

CREATE FUNCTION dp_revoke(dataset text, role regrole) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_revoke_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp_revoke(text, regrole) IS 'takes back what dp_grant gave';

CREATE FUNCTION dp_budget(dataset text)
    RETURNS TABLE (epsilon_budget numeric, epsilon_spent numeric, epsilon_left numeric,
                   delta_budget numeric, delta_spent numeric, releases bigint,
                   epsilon_sum numeric, epsilon_zcdp float8, rho float8)
    AS 'MODULE_PATHNAME', 'dp_budget_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp_budget(text) IS
    'what is spent and left of a dataset''s budget. epsilon_spent is the smaller of two valid bounds: the plain sum, and with a delta budget the conversion of the summed zCDP loss rho';

CREATE FUNCTION dp_verify_ledger()
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
COMMENT ON FUNCTION dp_verify_ledger() IS
    'recomputes the ledger''s hash chain and sums: whole is true if no entry was changed, removed or put in between. More than one epoch means that the database was restored from a backup, or promoted, since the first charge';


-- Releases of a hierarchy (hierarchy.rs) --------------------------------------------------------

CREATE FUNCTION dp_hierarchy_release(
        dataset text, epsilon float8, estimators text[] DEFAULT '{auto}',
        consistency text DEFAULT 'matching', max_size bigint DEFAULT 10000,
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_hierarchy_release_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp_hierarchy_release(text, float8, text[], text, bigint, float8[], text) IS
    'releases the histogram of every region of a dataset''s hierarchy with epsilon-differential privacy: integers that are not negative, add up, and keep the public numbers of groups. Rows with groups = 0 are left out; the root''s path is {}. A release with a name is stored and answered from the store, free, when asked for again';


-- Views of the catalog --------------------------------------------------------------------------

-- Owners see their datasets, grants and charges, grantees what they may use and spent; what was
-- released is for everyone.
CREATE VIEW dp.datasets WITH (security_barrier) AS
    WITH usable AS MATERIALIZED (
        SELECT d.* FROM dp.dataset AS d
         WHERE d.dropped_at IS NULL
           AND (pg_catalog.pg_has_role(d.owner::oid, 'USAGE')
                OR EXISTS (SELECT FROM dp.access AS a
                            WHERE a.dataset = d.id AND pg_catalog.pg_has_role(a.grantee::oid, 'USAGE'))))
    SELECT u.name, u.owner, u.entities, u.groups, u.group_key, u.hierarchy, u.size_column,
           u.privacy_unit, u.max_rows_per_unit, b.epsilon_budget, b.epsilon_spent, b.epsilon_left,
           b.delta_budget, b.delta_spent, b.releases, u.created_at
      FROM usable AS u CROSS JOIN LATERAL @extschema@.dp_budget(u.name) AS b;
COMMENT ON VIEW dp.datasets IS 'the datasets that you own or may release from, and what is spent of their budgets';

CREATE VIEW dp.grants WITH (security_barrier) AS
    SELECT d.name AS dataset, a.grantee, a.epsilon_limit, a.epsilon_spent, a.granted_at, a.granted_by
      FROM dp.access AS a JOIN dp.dataset AS d ON d.id = a.dataset
     WHERE d.dropped_at IS NULL
       AND (pg_catalog.pg_has_role(d.owner::oid, 'USAGE') OR pg_catalog.pg_has_role(a.grantee::oid, 'USAGE'));
COMMENT ON VIEW dp.grants IS 'which roles may release from your datasets, up to which epsilon, and what they spent';

CREATE VIEW dp.ledger WITH (security_barrier) AS
    SELECT c.id, c.charged_at AS "when", c.charged_by AS who, d.name AS dataset, c.function,
           c.epsilon, c.delta, c.parameters, c.rho, c.epoch, c.hash
      FROM dp.charge AS c JOIN dp.dataset AS d ON d.id = c.dataset
     WHERE pg_catalog.pg_has_role(d.owner::oid, 'USAGE');
COMMENT ON VIEW dp.ledger IS
    'every charge to the budget of a dataset that you own or owned: when, by whom, for what';

CREATE VIEW dp.releases AS
    SELECT d.name AS dataset, r.name, r.released_at, c.epsilon, c.delta, r.parameters,
           (SELECT count(*) FROM dp.release_region AS g WHERE g.release = r.id) AS regions
      FROM dp.release AS r
      JOIN dp.dataset AS d ON d.id = r.dataset
      JOIN dp.charge AS c ON c.id = r.charge
     WHERE d.dropped_at IS NULL;
COMMENT ON VIEW dp.releases IS 'releases that were stored under a name, with the parameters they were made with';

CREATE VIEW dp.release_rows AS
    SELECT d.name AS dataset, r.name AS release, pg_catalog.cardinality(g.path) AS level, g.path,
           h.size, h.groups
      FROM dp.release AS r
      JOIN dp.dataset AS d ON d.id = r.dataset
      JOIN dp.release_region AS g ON g.release = r.id
     CROSS JOIN LATERAL @extschema@.dp_unnest(g.histogram) AS h
     WHERE d.dropped_at IS NULL;
COMMENT ON VIEW dp.release_rows IS 'the rows of all stored releases, for dashboards';

GRANT SELECT ON dp.datasets, dp.grants, dp.ledger, dp.releases, dp.release_rows TO PUBLIC;
