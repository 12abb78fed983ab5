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
    max_rows_per_unit integer DEFAULT 1 CHECK (max_rows_per_unit > 0), -- NULL for what
                             -- dp.chosen_bound has
    fingerprint text NOT NULL, -- of the tables and columns as they were declared
    epsilon_budget numeric NOT NULL CHECK (epsilon_budget > 0),
    delta_budget numeric NOT NULL CHECK (delta_budget >= 0),
    smallest_charge numeric NOT NULL CHECK (smallest_charge > 0),
    epsilon_sum numeric NOT NULL DEFAULT 0, -- of what was charged to all the data, as the next two
    delta_sum numeric NOT NULL DEFAULT 0,
    rho_sum numeric NOT NULL DEFAULT 0,
    releases bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    dropped_at timestamptz, -- a dropped dataset stays, for its ledger
    period_column text,
    period_type text, -- int8, date, timestamp, timestamptz
    groups_per_unit integer CHECK (groups_per_unit > 0), -- where groups are private, which then
                             -- appear or vanish with a unit at most; NULL where they are public
    regions oid, -- the public table of regions, where groups are private
    regions_name text,
    other_region text, -- that rows count in whose region is not there, NULL if nowhere
    summits bytea, -- of the charges to parts, the sums that no cell exceeds, so that a
                             -- charge need not read all; NULL where they are not kept
    database text -- where it was declared or last confirmed: its number and files, as in a copy
                             -- of it a release spends the same budget once more
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
    period_limit numeric CHECK (period_limit > 0), -- in each opened period
    delta_limit numeric CHECK (delta_limit >= 0),
    delta_spent numeric NOT NULL DEFAULT 0,
    PRIMARY KEY (dataset, grantee)
);
COMMENT ON TABLE dp.access IS
    'who may release from a dataset besides its owner, which dp.grants shows';

-- Kept for all roles, as a period may be opened, and a limit set, after what counts there was spent.
CREATE TABLE dp.access_period (
    dataset bigint NOT NULL,
    grantee oid NOT NULL,
    period int8range NOT NULL,
    epsilon_spent numeric NOT NULL,
    PRIMARY KEY (dataset, grantee, period),
    FOREIGN KEY (dataset, grantee) REFERENCES dp.access
);
COMMENT ON TABLE dp.access_period IS
    'of what a role has spent, that of releases of one period, which dp.grants shows in all';

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

-- What was charged to parts of a dataset, which share its budget where no row lies in two of them.
CREATE TABLE dp.scope (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dataset bigint NOT NULL REFERENCES dp.dataset,
    -- what a charge reads of each: tables, regions, within and period in one, and the sums
    place bytea NOT NULL,
    sums bytea NOT NULL GENERATED ALWAYS AS (
        numeric_send(epsilon_sum) || numeric_send(delta_sum) || numeric_send(rho_sum)) STORED,
    tables text NOT NULL, -- a hash of the tables and columns that told rows apart
    regions text, -- and of which region each group lay in, NULL for all regions
    within text[] NOT NULL,
    period int8range NOT NULL CHECK (NOT isempty(period)), -- as the column's values are stored
    period_text text,
    epsilon_sum numeric NOT NULL,
    delta_sum numeric NOT NULL,
    rho_sum numeric NOT NULL,
    releases bigint NOT NULL
);
CREATE UNIQUE INDEX scope_place ON dp.scope (dataset, place);
-- For what counts in a part.
CREATE INDEX scope_within ON dp.scope (dataset, (within[1]));
CREATE INDEX scope_period ON dp.scope USING gist (period);
COMMENT ON TABLE dp.scope IS
    'sums of the charges to parts of datasets, which dp_budget_cells shows';

-- Disjoint, and never closed or changed but by a deed: so none gives back what was spent of its rows.
CREATE TABLE dp.period (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dataset bigint NOT NULL REFERENCES dp.dataset,
    period int8range NOT NULL CHECK (NOT (isempty(period) OR lower_inf(period) OR upper_inf(period))), -- as the
                             -- column's values are stored
    period_text text NOT NULL,
    epsilon_budget numeric CHECK (epsilon_budget > 0), -- NULL for that of the dataset
    delta_budget numeric CHECK (delta_budget >= 0)
);
CREATE UNIQUE INDEX period_range ON dp.period (dataset, period);
COMMENT ON TABLE dp.period IS
    'opened periods of datasets and their own budgets, which dp_budget_periods shows';

-- Which cells a dataset keeps, as a charge reads them and dp_verify_ledger checks.
CREATE FUNCTION dp.summits(parts bytea) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_summits_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
REVOKE EXECUTE ON FUNCTION dp.summits(bytea) FROM PUBLIC;
COMMENT ON FUNCTION dp.summits(bytea) IS
    'inside of dp_verify_ledger: the sums that no cell of a dataset exceeds';

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
    seen boolean, -- of a search: whether any count stood out of the noise
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
    AS 'MODULE_PATHNAME', 'region_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp.region(text[]) IS
    'a path as one text, each as another: names joined by /, where / and \ get a \ in front';

-- What the histograms say is computed once, when they are stored: dashboards ask for it often. Who stores a release computes
-- the same (pg/release/store_regions.rs).
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

-- At the end of the transaction that publishes it, or of one that follows that which stores it. Not where others have
-- filled half of what is for sessions to hear: once that is full, no transaction that tells can be committed.
CREATE FUNCTION dp.tell_published(release bigint) RETURNS void
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT pg_catalog.pg_notify('pg_dp_published', pg_catalog.jsonb_build_object(
               'dataset', r.dataset_name, 'release', r.name)::text)
      FROM dp.release AS r
     WHERE r.id = tell_published.release AND r.released_at IS NOT NULL AND r.status = 'published'
       AND pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.<) 0.5;
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

CREATE TABLE dp.release_grid (
    release bigint PRIMARY KEY REFERENCES dp.release,
    grid @extschema@.dp_grid NOT NULL
);
COMMENT ON TABLE dp.release_grid IS 'stored releases of grids, which dp.release_grids shows';

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

CREATE TABLE dp.release_region_bins (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- the regions' order: level by level
    path text[] NOT NULL,
    region text NOT NULL GENERATED ALWAYS AS (dp.region(path)) STORED,
    ranges @extschema@.dp_ranges NOT NULL,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_region_bins IS
    'the regions of stored releases of bins, which dp.release_region_ranges shows';

CREATE TABLE dp.release_found_region (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- in the order of their paths
    path text[] NOT NULL,
    region text NOT NULL GENERATED ALWAYS AS (dp.region(path)) STORED,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_found_region IS
    'the regions of stored dp_find_regions, which dp.found_regions shows';

CREATE TABLE dp.release_bound (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- in ascending order
    candidate numeric NOT NULL,
    above bigint NOT NULL,
    clipping float8 NOT NULL,
    noise float8 NOT NULL,
    chosen boolean NOT NULL,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_bound IS
    'the candidates of stored dp_find_bound, which dp.found_bounds shows';

-- A search of a role with a grant is for itself: what all releases use is for the owner to say.
CREATE VIEW dp.chosen_bound AS
    SELECT DISTINCT ON (r.dataset, r.parameters ->> 'bound', r.parameters ->> 'amount')
           r.dataset, r.parameters ->> 'bound' AS bound, r.parameters ->> 'amount' AS amount,
           b.candidate AS value
      FROM dp.release AS r
      JOIN dp.charge AS c ON c.id = r.charge
      JOIN dp.release_bound AS b ON b.release = r.id
     WHERE b.chosen AND r.status <> 'retracted' AND c.function = 'dp_find_bound'
       AND c.parameters -> 'kept' = 'true'
     ORDER BY r.dataset, r.parameters ->> 'bound', r.parameters ->> 'amount', r.released_at DESC;
COMMENT ON VIEW dp.chosen_bound IS 'what ''auto'' means: the bounds that were chosen last';

-- Of time, what it is in the session's time zone; of numbers, how many.
CREATE FUNCTION dp.grain(value_type regtype, lower_bound text, upper_bound text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET intervalstyle = postgres
RETURN CASE
    WHEN lower_bound IS NULL OR upper_bound IS NULL THEN 'open'
    WHEN value_type = 'bigint'::regtype THEN (upper_bound::numeric - lower_bound::numeric)::text
    -- near the ends of timestamp a year more overflows; a date may be no timestamp at all; and the
    -- difference of two timestamps may be longer than an interval can be
    WHEN value_type = 'date'::regtype
         AND (lower_bound::date < date '4712-01-01 BC'
              OR upper_bound::date >= date '280000-01-01')
        THEN make_interval(days => upper_bound::date - lower_bound::date)::text
    WHEN value_type <> 'date'::regtype
         AND (lower_bound::timestamp < timestamp '4712-01-01 BC'
              OR upper_bound::timestamp >= timestamp '280000-01-01')
        THEN justify_hours(
                 make_interval(days => upper_bound::timestamp::date - lower_bound::timestamp::date)
                 + (upper_bound::timestamp::time - lower_bound::timestamp::time))::text
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
SELECT pg_catalog.pg_extension_config_dump('dp.access_period', '');
SELECT pg_catalog.pg_extension_config_dump('dp.period', '');
SELECT pg_catalog.pg_extension_config_dump('dp.period_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp.scope', '');
SELECT pg_catalog.pg_extension_config_dump('dp.scope_id_seq', '');
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
SELECT pg_catalog.pg_extension_config_dump('dp.release_grid', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_range', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_region_sums', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_region_bins', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_found_region', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_bound', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_status', '');


