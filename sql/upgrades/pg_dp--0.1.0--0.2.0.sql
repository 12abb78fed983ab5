\echo Use "ALTER EXTENSION pg_dp UPDATE" to load this file. \quit

-- From 0.1.0 to 0.2.0. tests/workflows/upgrade compares what it leads to with what the parts in sql/
-- make, and CONTRIBUTING.md tells how it is written.

SET LOCAL search_path = pg_catalog, pg_temp; -- as in 00_setup.sql

-- Arguments that are a number or 'auto': stored as a bigint and as a numeric, of which one value says that.
CREATE TYPE @extschema@.dp_bound;
CREATE FUNCTION @extschema@.dp_bound_in(cstring) RETURNS @extschema@.dp_bound
    AS 'MODULE_PATHNAME', 'dp_bound_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_bound_out(@extschema@.dp_bound) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_bound_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_bound_recv(internal) RETURNS @extschema@.dp_bound
    AS 'int8recv' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_bound_send(@extschema@.dp_bound) RETURNS bytea
    AS 'int8send' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.dp_bound (
    INPUT = @extschema@.dp_bound_in, OUTPUT = @extschema@.dp_bound_out,
    RECEIVE = @extschema@.dp_bound_recv, SEND = @extschema@.dp_bound_send, LIKE = bigint
);
COMMENT ON FUNCTION @extschema@.dp_bound_recv(internal) IS 'binary input of dp_bound, as of bigint';
COMMENT ON FUNCTION @extschema@.dp_bound_send(@extschema@.dp_bound) IS 'binary output of dp_bound, as of bigint';
COMMENT ON TYPE @extschema@.dp_bound IS 'a whole number, or ''auto'' for what dp_find_bound has chosen';
COMMENT ON FUNCTION @extschema@.dp_bound_in(cstring) IS 'text input of dp_bound';
COMMENT ON FUNCTION @extschema@.dp_bound_out(@extschema@.dp_bound) IS 'text output of dp_bound';
CREATE CAST (smallint AS @extschema@.dp_bound) WITH INOUT AS IMPLICIT;
CREATE CAST (integer AS @extschema@.dp_bound) WITH INOUT AS IMPLICIT;
CREATE CAST (bigint AS @extschema@.dp_bound) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (smallint AS @extschema@.dp_bound) IS 'a bound that is given as a number';
COMMENT ON CAST (integer AS @extschema@.dp_bound) IS 'a bound that is given as a number';
COMMENT ON CAST (bigint AS @extschema@.dp_bound) IS 'a bound that is given as a number';

CREATE TYPE @extschema@.dp_amount;
CREATE FUNCTION @extschema@.dp_amount_in(cstring) RETURNS @extschema@.dp_amount
    AS 'MODULE_PATHNAME', 'dp_amount_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_amount_out(@extschema@.dp_amount) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_amount_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_amount_recv(internal, oid, integer) RETURNS @extschema@.dp_amount
    AS 'numeric_recv' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_amount_send(@extschema@.dp_amount) RETURNS bytea
    AS 'numeric_send' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.dp_amount (
    INPUT = @extschema@.dp_amount_in, OUTPUT = @extschema@.dp_amount_out,
    RECEIVE = @extschema@.dp_amount_recv, SEND = @extschema@.dp_amount_send, LIKE = numeric
);
COMMENT ON FUNCTION @extschema@.dp_amount_recv(internal, oid, integer) IS 'binary input of dp_amount, as of numeric';
COMMENT ON FUNCTION @extschema@.dp_amount_send(@extschema@.dp_amount) IS 'binary output of dp_amount, as of numeric';
COMMENT ON TYPE @extschema@.dp_amount IS 'a number, or ''auto'' for what dp_find_bound has chosen';
COMMENT ON FUNCTION @extschema@.dp_amount_in(cstring) IS 'text input of dp_amount';
COMMENT ON FUNCTION @extschema@.dp_amount_out(@extschema@.dp_amount) IS 'text output of dp_amount';
CREATE CAST (smallint AS @extschema@.dp_amount) WITH INOUT AS IMPLICIT;
CREATE CAST (integer AS @extschema@.dp_amount) WITH INOUT AS IMPLICIT;
CREATE CAST (bigint AS @extschema@.dp_amount) WITH INOUT AS IMPLICIT;
CREATE CAST (numeric AS @extschema@.dp_amount) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (smallint AS @extschema@.dp_amount) IS 'an amount that is given as a number';
COMMENT ON CAST (integer AS @extschema@.dp_amount) IS 'an amount that is given as a number';
COMMENT ON CAST (bigint AS @extschema@.dp_amount) IS 'an amount that is given as a number';
COMMENT ON CAST (numeric AS @extschema@.dp_amount) IS 'an amount that is given as a number';

CREATE TYPE @extschema@.grid;

CREATE FUNCTION @extschema@.grid_in(cstring) RETURNS @extschema@.grid
    AS 'MODULE_PATHNAME', 'grid_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.grid_out(@extschema@.grid) RETURNS cstring
    AS 'MODULE_PATHNAME', 'grid_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.grid_recv(internal) RETURNS @extschema@.grid
    AS 'MODULE_PATHNAME', 'grid_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.grid_send(@extschema@.grid) RETURNS bytea
    AS 'MODULE_PATHNAME', 'grid_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE @extschema@.grid (
    INPUT = @extschema@.grid_in, OUTPUT = @extschema@.grid_out,
    RECEIVE = @extschema@.grid_recv, SEND = @extschema@.grid_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);

COMMENT ON TYPE @extschema@.grid IS
    'exact, CONFIDENTIAL counts: how many rows there are in each cell of a grid of bins';

COMMENT ON FUNCTION @extschema@.grid_in(cstring) IS 'text input of grid';

COMMENT ON FUNCTION @extschema@.grid_out(@extschema@.grid) IS 'text output of grid';

COMMENT ON FUNCTION @extschema@.grid_recv(internal) IS 'binary input of grid';

COMMENT ON FUNCTION @extschema@.grid_send(@extschema@.grid) IS 'binary output of grid';

CREATE TYPE @extschema@.dp_grid;

CREATE FUNCTION @extschema@.dp_grid_in(cstring) RETURNS @extschema@.dp_grid
    AS 'MODULE_PATHNAME', 'dp_grid_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.dp_grid_out(@extschema@.dp_grid) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_grid_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.dp_grid_recv(internal) RETURNS @extschema@.dp_grid
    AS 'MODULE_PATHNAME', 'dp_grid_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.dp_grid_send(@extschema@.dp_grid) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_grid_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE @extschema@.dp_grid (
    INPUT = @extschema@.dp_grid_in, OUTPUT = @extschema@.dp_grid_out,
    RECEIVE = @extschema@.dp_grid_recv, SEND = @extschema@.dp_grid_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'd'
);

COMMENT ON TYPE @extschema@.dp_grid IS
    'released, differentially private counts of the cells of a grid, which answer any rectangle';

COMMENT ON FUNCTION @extschema@.dp_grid_in(cstring) IS 'text input of dp_grid';

COMMENT ON FUNCTION @extschema@.dp_grid_out(@extschema@.dp_grid) IS 'text output of dp_grid';

COMMENT ON FUNCTION @extschema@.dp_grid_recv(internal) IS 'binary input of dp_grid';

COMMENT ON FUNCTION @extschema@.dp_grid_send(@extschema@.dp_grid) IS 'binary output of dp_grid';

CREATE FUNCTION @extschema@.grid_to_jsonb(@extschema@.grid) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'grid_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.grid_to_jsonb(@extschema@.grid) IS
    'inside of the cast to jsonb';

CREATE CAST (@extschema@.grid AS jsonb)
    WITH FUNCTION @extschema@.grid_to_jsonb(@extschema@.grid);

COMMENT ON CAST (@extschema@.grid AS jsonb) IS
    '{"row_lo": lo, "row_hi": hi, "column_lo": lo, "column_hi": hi, "counts": {"row/column": count, ...}}';

CREATE FUNCTION @extschema@.dp_grid_to_jsonb(@extschema@.dp_grid) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'dp_grid_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.dp_grid_to_jsonb(@extschema@.dp_grid) IS
    'inside of the cast to jsonb';

CREATE CAST (@extschema@.dp_grid AS jsonb)
    WITH FUNCTION @extschema@.dp_grid_to_jsonb(@extschema@.dp_grid);

COMMENT ON CAST (@extschema@.dp_grid AS jsonb) IS
    'what was released: bounds, method, parameters, the sums over the rectangles from the first cell';

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

ALTER TABLE dp.dataset ADD COLUMN period_column text, ADD COLUMN period_type text,
    ADD COLUMN groups_per_unit integer CHECK (groups_per_unit > 0), ADD COLUMN regions oid,
    ADD COLUMN regions_name text, ADD COLUMN other_region text, ADD COLUMN summits bytea,
    ADD COLUMN database text;
UPDATE dp.dataset
   SET summits = '', -- there were no parts yet
       -- its files are written down when it is confirmed
       database = (SELECT oid FROM pg_database WHERE datname = current_database());

ALTER TABLE dp.access ADD COLUMN period_limit numeric CHECK (period_limit > 0),
    ADD COLUMN delta_limit numeric CHECK (delta_limit >= 0),
    ADD COLUMN delta_spent numeric NOT NULL DEFAULT 0;
-- by which grant is not in the ledger: of a role that owns or uses several, perhaps more
UPDATE dp.access AS a
   SET delta_spent = (SELECT coalesce(sum(c.delta), 0) FROM dp.charge AS c
                       WHERE c.dataset = a.dataset AND c.charged_by = a.grantee_name);

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

DROP FUNCTION @extschema@.dp_coco_histogram(
    @extschema@.coco, float8, bigint, text, text, text);

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

-- At the end of the transaction that publishes it, or of one that follows that which stores it. Not where others have
-- filled half of what is for sessions to hear: once that is full, no transaction that tells can be committed.
CREATE OR REPLACE FUNCTION dp.tell_published(release bigint) RETURNS void
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT pg_catalog.pg_notify('pg_dp_published', pg_catalog.jsonb_build_object(
               'dataset', r.dataset_name, 'release', r.name)::text)
      FROM dp.release AS r
     WHERE r.id = tell_published.release AND r.released_at IS NOT NULL AND r.status = 'published'
       AND pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.<) 0.5;
END;

-- Which cells a dataset keeps, as a charge reads them and dp_verify_ledger checks.
CREATE FUNCTION dp.summits(parts bytea) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_summits_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

REVOKE EXECUTE ON FUNCTION dp.summits(bytea) FROM PUBLIC;

COMMENT ON FUNCTION dp.summits(bytea) IS
    'inside of dp_verify_ledger: the sums that no cell of a dataset exceeds';

ALTER TABLE dp.release ADD COLUMN seen boolean;

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

ALTER TABLE dp.dataset ALTER COLUMN max_rows_per_unit DROP NOT NULL;

-- Of time, what it is in the session's time zone; of numbers, how many.
CREATE OR REPLACE FUNCTION dp.grain(value_type regtype, lower_bound text, upper_bound text) RETURNS text
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

-- What it says has not changed: generated columns that use it need not be computed anew.
CREATE OR REPLACE FUNCTION dp.region(path text[]) RETURNS text
    AS 'MODULE_PATHNAME', 'region_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TABLE dp.release_found_region (
    release bigint NOT NULL REFERENCES dp.release,
    n bigint NOT NULL, -- in the order of their paths
    path text[] NOT NULL,
    region text NOT NULL GENERATED ALWAYS AS (dp.region(path)) STORED,
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.release_found_region IS
    'the regions of stored dp_find_regions, which dp.found_regions shows';

CREATE TABLE dp.release_grid (
    release bigint PRIMARY KEY REFERENCES dp.release,
    grid @extschema@.dp_grid NOT NULL
);

COMMENT ON TABLE dp.release_grid IS 'stored releases of grids, which dp.release_grids shows';

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

SELECT pg_catalog.pg_extension_config_dump('dp.access_period', '');
SELECT pg_catalog.pg_extension_config_dump('dp.period', '');
SELECT pg_catalog.pg_extension_config_dump('dp.period_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('dp.scope', '');

SELECT pg_catalog.pg_extension_config_dump('dp.scope_id_seq', '');

SELECT pg_catalog.pg_extension_config_dump('dp.release_grid', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_bound', '');
SELECT pg_catalog.pg_extension_config_dump('dp.release_found_region', '');

SELECT pg_catalog.pg_extension_config_dump('dp.release_region_bins', '');

DROP FUNCTION @extschema@.dp_create_dataset(
    text, regclass, text[], text[], regclass, text, float8, float8, text, integer, regclass);

CREATE FUNCTION @extschema@.dp_create_dataset(
        name text, entities regclass, group_key text[], hierarchy text[],
        groups regclass DEFAULT NULL, size_column text DEFAULT NULL,
        epsilon_budget float8 DEFAULT NULL, delta_budget float8 DEFAULT 0,
        privacy_unit text DEFAULT NULL,
        max_rows_per_unit @extschema@.dp_bound DEFAULT NULL,
        leaves regclass DEFAULT NULL, period_column text DEFAULT NULL,
        groups_private boolean DEFAULT false, regions regclass DEFAULT NULL,
        other text DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_create_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_create_dataset(
        text, regclass, text[], text[], regclass, text, float8, float8, text, @extschema@.dp_bound,
        regclass, text, boolean, regclass, text)
    IS 'declares a private table, its groups, their hierarchy, and the budget of its releases';

CREATE FUNCTION @extschema@.dp_raise_budget(
        dataset text, reason text, epsilon float8 DEFAULT 0, delta float8 DEFAULT 0,
        period text DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_raise_budget_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_raise_budget(text, text, float8, float8, text) IS
    'adds to the budget of a dataset or of a period, by an entry of the ledger';

CREATE FUNCTION @extschema@.dp_open_period(
        dataset text, period text, epsilon float8 DEFAULT NULL, delta float8 DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_open_period_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_open_period(text, text, float8, float8) IS
    'gives the rows of a period a budget of their own within the dataset''s, by an entry of the ledger';

DROP FUNCTION @extschema@.dp_grant(text, regrole, float8, boolean);

CREATE FUNCTION @extschema@.dp_grant(
        dataset text, role regrole, epsilon_limit float8 DEFAULT NULL,
        require_name boolean DEFAULT true, period_limit float8 DEFAULT NULL,
        delta_limit float8 DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_grant_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_grant(text, regrole, float8, boolean, float8, float8) IS
    'lets a role release from a dataset, up to epsilon_limit of its budget';

CREATE FUNCTION @extschema@.dp_budget_periods(dataset text)
    RETURNS TABLE (period text, epsilon_budget numeric, epsilon_spent numeric,
                   epsilon_left numeric, delta_budget numeric, picture text)
    AS 'MODULE_PATHNAME', 'dp_budget_periods_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_budget_periods(text) IS
    'what is spent and left of the budget of each period that dp_open_period opened';

CREATE FUNCTION @extschema@.dp_budget_cells(dataset text)
    RETURNS TABLE (within text[], period text, epsilon_spent numeric, epsilon_left numeric,
                   releases bigint, picture text)
    AS 'MODULE_PATHNAME', 'dp_budget_cells_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_budget_cells(text) IS
    'what is spent and left of a dataset''s budget in each part of the data that was charged';

CREATE OR REPLACE FUNCTION @extschema@.dp_verify_ledger()
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
    ), charged AS MATERIALIZED ( -- cells is there for charges to a part of the data
        SELECT c.dataset, c.parameters -> 'cells' AS cells,
               CASE WHEN c.parameters ? 'cells' THEN c.parameters -> 'within' END AS within,
               count(*) FILTER (WHERE c.function NOT IN ('dp_raise_budget', 'dp_open_period', 'dp_publish')) AS n,
               -- what is charged with a plan is in the plan's entry
               coalesce(sum(c.epsilon) FILTER (WHERE NOT c.parameters ? 'plan'), 0) AS epsilon,
               coalesce(sum(c.delta) FILTER (WHERE NOT c.parameters ? 'plan'), 0) AS delta,
               coalesce(sum(c.rho) FILTER (WHERE NOT c.parameters ? 'plan'), 0) AS rho
          FROM dp.charge AS c GROUP BY 1, 2, 3
    ), of_parts AS (
        SELECT s.dataset,
               jsonb_build_object('tables', s.tables, 'regions', s.regions,
                                  'lower', lower(s.period), 'upper', upper(s.period)) AS cells,
               CASE WHEN s.within <> '{}' THEN to_jsonb(s.within) END AS within,
               s.releases AS n, s.epsilon_sum AS epsilon, s.delta_sum AS delta, s.rho_sum AS rho
          FROM dp.scope AS s
    ), planned AS ( -- a plan's entries follow its own, as it names them
        SELECT p.id AS plan, p.id + r.n AS id, p.dataset, p.charged_by, p.epoch,
               p.parameters -> 'cells' AS cells, p.parameters -> 'within' AS within,
               p.parameters -> 'period' AS period, r.name, p.rho
          FROM dp.charge AS p
         CROSS JOIN LATERAL jsonb_array_elements(
                        CASE jsonb_typeof(p.parameters -> 'releases')
                        WHEN 'array' THEN p.parameters -> 'releases' ELSE '[null]' END)
                    WITH ORDINALITY AS r (name, n)
         WHERE p.function = 'dp_publish'
    ), misplanned AS (
        SELECT min(coalesce(c.id, p.id)) AS first
          FROM planned AS p
          FULL JOIN (SELECT * FROM dp.charge AS c WHERE c.parameters ? 'plan') AS c
                 ON c.id = p.id AND c.parameters -> 'plan' = to_jsonb(p.plan)
         WHERE (c.dataset, c.charged_by, c.epoch, c.parameters -> 'cells', c.parameters -> 'within',
                c.parameters -> 'period', c.parameters -> 'name')
               IS DISTINCT FROM
               (p.dataset, p.charged_by, p.epoch, p.cells, p.within, p.period, p.name)
    ), misjudged AS ( -- both are rounded up
        SELECT min(s.plan) AS first
          FROM (SELECT p.plan, p.rho, sum(c.rho) AS of_entries
                  FROM planned AS p JOIN dp.charge AS c ON c.id = p.id
                 GROUP BY p.plan, p.rho) AS s
         WHERE abs(s.rho - s.of_entries) > 1e-9 * s.of_entries
    ), unbalanced AS (
        SELECT min(u.dataset) AS first
          FROM (SELECT d.id AS dataset
                  FROM dp.dataset AS d
                  LEFT JOIN (SELECT c.dataset, sum(c.n) AS n FROM charged AS c
                              GROUP BY c.dataset) AS a ON a.dataset = d.id
                  LEFT JOIN charged AS c ON c.dataset = d.id AND c.cells IS NULL
                 WHERE (d.releases, d.epsilon_sum, d.delta_sum, d.rho_sum)
                       <> (coalesce(a.n, 0), coalesce(c.epsilon, 0), coalesce(c.delta, 0),
                           coalesce(c.rho, 0))
                UNION ALL
                SELECT e.dataset
                  FROM (SELECT c.dataset, c.cells, c.within, c.n, c.epsilon, c.delta, c.rho, 1 AS side
                          FROM charged AS c WHERE c.cells IS NOT NULL
                        UNION ALL
                        SELECT p.dataset, p.cells, p.within, p.n, p.epsilon, p.delta, p.rho, -1
                          FROM of_parts AS p) AS e
                 GROUP BY e.dataset, e.cells, e.within
                HAVING count(*) <> 2
                       OR (sum(e.side * e.n), sum(e.side * e.epsilon), sum(e.side * e.delta),
                           sum(e.side * e.rho)) <> (0, 0, 0, 0)
                UNION ALL
                SELECT d.id
                  FROM dp.dataset AS d
                 WHERE d.summits IS DISTINCT FROM
                       dp.summits(coalesce((SELECT string_agg(int8send(s.id) || s.place || s.sums, '')
                                              FROM dp.scope AS s WHERE s.dataset = d.id), ''))
                       AND d.summits IS NOT NULL) AS u
    ), deeds AS ( -- each leads to the budget that the next one finds, the last to that of today
        SELECT c.dataset, (c.parameters -> 'epsilon_budget' ->> 1)::numeric AS epsilon,
               (c.parameters -> 'delta_budget' ->> 1)::numeric AS delta,
               lead((c.parameters -> 'epsilon_budget' ->> 0)::numeric, 1, d.epsilon_budget)
                   OVER by_id AS next_epsilon,
               lead((c.parameters -> 'delta_budget' ->> 0)::numeric, 1, d.delta_budget)
                   OVER by_id AS next_delta
          FROM dp.charge AS c JOIN dp.dataset AS d ON d.id = c.dataset
         WHERE c.function = 'dp_raise_budget' AND NOT c.parameters ? 'period'
        WINDOW by_id AS (PARTITION BY c.dataset ORDER BY c.id)
    ), of_periods AS (
        SELECT c.id, c.dataset, c.function = 'dp_open_period' AS opens, c.parameters ->> 'period' AS period_text,
               int8range((c.parameters ->> 'lower')::bigint, (c.parameters ->> 'upper')::bigint) AS period,
               c.parameters -> 'epsilon_budget' AS epsilon, c.parameters -> 'delta_budget' AS delta
          FROM dp.charge AS c
         WHERE c.function = 'dp_open_period'
            OR c.function = 'dp_raise_budget' AND c.parameters ? 'period'
    ), period_deeds AS ( -- the first one opens it; from there on it is the same
        SELECT coalesce(c.dataset, p.dataset) AS dataset,
               c.opens = (row_number() OVER by_id = 1) AND c.period_text = p.period_text AS fits,
               (c.epsilon ->> 1)::numeric AS epsilon, (c.delta ->> 1)::numeric AS delta,
               CASE WHEN lead(c.id) OVER by_id IS NULL THEN p.epsilon_budget
                    ELSE lead((c.epsilon ->> 0)::numeric) OVER by_id END AS next_epsilon,
               CASE WHEN lead(c.id) OVER by_id IS NULL THEN p.delta_budget
                    ELSE lead((c.delta ->> 0)::numeric) OVER by_id END AS next_delta
          FROM of_periods AS c
          FULL JOIN dp.period AS p ON p.dataset = c.dataset AND p.period = c.period
        WINDOW by_id AS (PARTITION BY c.dataset, c.period ORDER BY c.id)
    ), undeeded AS (
        SELECT min(e.dataset) AS first
          FROM (SELECT e.*, true AS fits FROM deeds AS e
                UNION ALL
                SELECT e.dataset, e.epsilon, e.delta, e.next_epsilon, e.next_delta, e.fits
                  FROM period_deeds AS e) AS e
         WHERE e.fits IS NOT TRUE
            OR (e.epsilon, e.delta) IS DISTINCT FROM (e.next_epsilon, e.next_delta)
    ), problems AS (
        SELECT CASE WHEN broken.first IS NOT NULL
                    THEN format('entry %s does not continue the chain', broken.first)
                    WHEN misplanned.first IS NOT NULL
                    THEN format('entry %s is not what a plan was charged for', misplanned.first)
                    WHEN misjudged.first IS NOT NULL
                    THEN format('the plan of entry %s did not cost what its entries do',
                                misjudged.first)
                    WHEN unbalanced.first IS NOT NULL
                    THEN format('the sums of dataset number %s are not those of its entries',
                                unbalanced.first)
                    WHEN undeeded.first IS NOT NULL
                    THEN format('the budget of dataset number %s is not that of its deeds',
                                undeeded.first)
               END AS problem
          FROM broken, misplanned, misjudged, unbalanced, undeeded
    )
    SELECT (SELECT count(*) FROM dp.charge), (SELECT count(*) FROM dp.epoch), p.problem IS NULL,
           p.problem
      FROM problems AS p;
END;

-- Its body was read when it was made: what somebody adds to the extension's schema does not change what it means.
CREATE FUNCTION dp.ledger_problem() RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT v.problem FROM @extschema@.dp_verify_ledger() AS v;
END;
COMMENT ON FUNCTION dp.ledger_problem() IS
    'inside of dp_confirm_dataset: what dp_verify_ledger finds, NULL where the ledger is whole';

DROP FUNCTION @extschema@.dp_hierarchy_release(
    text, float8, text[], text, bigint, float8[], text, boolean);

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

DROP FUNCTION @extschema@.dp_explain_hierarchy(
    text, float8, text[], text[], bigint, float8[], text, @extschema@.dp_coco, float8, int);

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

DROP FUNCTION @extschema@.dp_range_release(
    @extschema@.bins, float8, float8, text, text, text);

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

DROP FUNCTION @extschema@.dp_range_sums(
    text, text, int8range[], float8, float8, int8range, text, text, text, numeric, numeric,
    numeric, text);

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

DROP FUNCTION @extschema@.dp_range_sums(
    text, text, daterange[], interval, float8, float8, daterange, text, text, text, numeric, numeric,
    numeric, text);

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

DROP FUNCTION @extschema@.dp_range_sums(
    text, text, tsrange[], interval, float8, float8, tsrange, text, text, text, numeric, numeric,
    numeric, text);

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

DROP FUNCTION @extschema@.dp_range_sums(
    text, text, tstzrange[], interval, float8, float8, tstzrange, text, text, text, numeric, numeric,
    numeric, text);

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

CREATE FUNCTION @extschema@.dp_find_bound(
        dataset text, bound text, epsilon float8, amount text DEFAULT NULL,
        release_epsilon float8 DEFAULT NULL, name text DEFAULT NULL,
        amount_unit numeric DEFAULT NULL)
    RETURNS TABLE (candidate numeric, above bigint, clipping float8, noise float8, chosen boolean)
    AS 'MODULE_PATHNAME', 'dp_find_bound_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 50
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_find_bound(text, text, float8, text, float8, text, numeric) IS
    'chooses a bound by noisy counts: of rows of a unit, amounts, or sizes';

CREATE FUNCTION @extschema@.dp_find_regions(
        dataset text, epsilon float8, delta float8, name text DEFAULT NULL)
    RETURNS TABLE (path text[])
    AS 'MODULE_PATHNAME', 'dp_find_regions_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_find_regions(text, float8, float8, text) IS
    'releases which lowest regions there are, of those that enough units of privacy have';

CREATE FUNCTION @extschema@.dp_explain_regions(dataset text, epsilon float8, delta float8)
    RETURNS TABLE (units bigint, probability float8)
    AS 'MODULE_PATHNAME', 'dp_explain_regions_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 7
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_explain_regions(text, float8, float8) IS
    'how likely dp_find_regions finds a region that so many units of privacy have, for nothing';

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

DROP FUNCTION @extschema@.dp_rectangle_sums(
    text, text, text, int8range[], int8range[], float8, float8, int8range, int8range, text,
    text, text, numeric, numeric, numeric);

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

DROP FUNCTION @extschema@.dp_region_range_sums(
    text, text, int8range[], float8, float8, int8range, text, float8[], text, text, numeric,
    numeric, numeric);

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges int8range[], epsilon float8,
        delta float8 DEFAULT 0, bounds int8range DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_numbers_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, int8range[], float8, float8, int8range, text, float8[], text,
        text, @extschema@.dp_amount, numeric, numeric, text[], text)
    IS 'releases how many rows of each region lie in ranges of integers, or sums of amounts';

DROP FUNCTION @extschema@.dp_region_range_sums(
    text, text, daterange[], interval, float8, float8, daterange, text, float8[], text, text,
    numeric, numeric, numeric);

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges daterange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds daterange DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range daterange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_dates_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, daterange[], interval, float8, float8, daterange, text, float8[], text,
        text, @extschema@.dp_amount, numeric, numeric, text[], text)
    IS 'releases how many rows of each region lie in ranges of dates, or sums of amounts';

DROP FUNCTION @extschema@.dp_region_range_sums(
    text, text, tsrange[], interval, float8, float8, tsrange, text, float8[], text, text,
    numeric, numeric, numeric);

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges tsrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tsrange DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range tsrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_timestamps_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, tsrange[], interval, float8, float8, tsrange, text, float8[], text,
        text, @extschema@.dp_amount, numeric, numeric, text[], text)
    IS 'releases how many rows of each region lie in ranges of timestamps, or sums of amounts';

DROP FUNCTION @extschema@.dp_region_range_sums(
    text, text, tstzrange[], interval, float8, float8, tstzrange, text, float8[], text, text,
    numeric, numeric, numeric);

CREATE FUNCTION @extschema@.dp_region_range_sums(
        dataset text, value_column text, ranges tstzrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tstzrange DEFAULT NULL, method text DEFAULT 'auto',
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        amount text DEFAULT NULL, max_amount @extschema@.dp_amount DEFAULT NULL, min_amount numeric DEFAULT 0,
        amount_unit numeric DEFAULT NULL, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], range tstzrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_region_range_sums_of_timestamptzs_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_region_range_sums(
        text, text, tstzrange[], interval, float8, float8, tstzrange, text, float8[], text,
        text, @extschema@.dp_amount, numeric, numeric, text[], text)
    IS 'releases how many rows of regions lie in ranges of timestamps with time zone, or sums of amounts';

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

CREATE FUNCTION @extschema@.dp_region_range_release(
        dataset text, bins_column text, bounds int8range, epsilon float8, delta float8 DEFAULT 0,
        method text DEFAULT 'auto', budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        max_amount bigint DEFAULT 1, within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], ranges @extschema@.dp_ranges)
    AS 'MODULE_PATHNAME', 'dp_region_range_release_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_region_range_release(
        text, text, int8range, float8, float8, text, float8[], text, bigint, text[], text)
    IS 'releases counts of bins of each region, which were counted elsewhere';

DROP FUNCTION @extschema@.dp_stream_create(
    text, text, text, date, interval, bigint, float8, float8);

CREATE FUNCTION @extschema@.dp_stream_create(
        dataset text, stream text, time_column text, start date, bin_width interval, horizon bigint,
        epsilon float8, delta float8 DEFAULT 0, within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_create_of_dates_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_stream_create(
        text, text, text, date, interval, bigint, float8, float8, text[], text) IS
    'charges a counter of rows by their dates, of all that it will ever release';

DROP FUNCTION @extschema@.dp_stream_create(
    text, text, text, timestamp, interval, bigint, float8, float8);

CREATE FUNCTION @extschema@.dp_stream_create(
        dataset text, stream text, time_column text, start timestamp, bin_width interval, horizon bigint,
        epsilon float8, delta float8 DEFAULT 0, within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_create_of_timestamps_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_stream_create(
        text, text, text, timestamp, interval, bigint, float8, float8, text[], text) IS
    'charges a counter of rows by their timestamps, of all that it will ever release';

DROP FUNCTION @extschema@.dp_stream_create(
    text, text, text, timestamptz, interval, bigint, float8, float8);

CREATE FUNCTION @extschema@.dp_stream_create(
        dataset text, stream text, time_column text, start timestamptz, bin_width interval, horizon bigint,
        epsilon float8, delta float8 DEFAULT 0, within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_create_of_timestamptzs_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_stream_create(
        text, text, text, timestamptz, interval, bigint, float8, float8, text[], text) IS
    'charges a counter of rows by their timestamps with time zone, of all that it will ever release';

CREATE OR REPLACE VIEW dp.grants WITH (security_barrier) AS
    SELECT d.name AS dataset, a.grantee::regrole AS grantee, a.epsilon_limit,
           pg_catalog.trim_scale(a.epsilon_spent) AS epsilon_spent, a.granted_at, a.granted_by,
           a.require_name, a.period_limit, a.delta_limit,
           pg_catalog.trim_scale(a.delta_spent) AS delta_spent
      FROM dp.access AS a JOIN dp.dataset AS d ON d.id = a.dataset
     WHERE d.dropped_at IS NULL AND NOT a.revoked
       AND (pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE')
            OR pg_catalog.pg_has_role(dp.role(a.grantee, a.grantee_name), 'USAGE'));
COMMENT ON COLUMN dp.grants.period_limit IS
    'the epsilon that it may spend in each opened period, NULL for what is left of the budget';
COMMENT ON COLUMN dp.grants.delta_limit IS
    'the delta that it may spend in all, NULL for what is left of the budget';
COMMENT ON COLUMN dp.grants.delta_spent IS 'the delta that it has spent';

-- Owners see their datasets, grants and charges, grantees what they may use and spent; what was
-- released is for everyone.
CREATE OR REPLACE VIEW dp.datasets WITH (security_barrier) AS
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
                             UNION SELECT dp.tables_behind(d.leaves)
                             UNION SELECT dp.tables_behind(d.groups)
                              WHERE d.groups_per_unit IS NOT NULL) AS t (relation)
    )
    SELECT u.name, u.owner::regrole AS owner, u.entities::regclass AS entities,
           u.groups::regclass AS groups, u.group_key, u.hierarchy, u.size_column, u.privacy_unit,
           coalesce(u.max_rows_per_unit, f.value::integer) AS max_rows_per_unit, b.epsilon_budget,
           b.epsilon_spent, b.epsilon_left,
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
           u.leaves::regclass AS leaves, c.counted_at, u.period_column,
           u.groups_per_unit IS NOT NULL AS groups_private, u.regions::regclass AS regions,
           u.other_region AS other
      FROM usable AS u CROSS JOIN LATERAL @extschema@.dp_budget(u.name) AS b
      LEFT JOIN dp.leaf_count AS c ON c.dataset = u.id
      LEFT JOIN dp.chosen_bound AS f ON f.dataset = u.id AND f.bound = 'max_rows_per_unit';

COMMENT ON COLUMN dp.datasets.max_rows_per_unit IS
    'how many rows of one unit are counted at most, NULL if dp_find_bound is still to choose';

COMMENT ON COLUMN dp.datasets.period_column IS
    'the column that tells to which period a row belongs, NULL if none was declared';

COMMENT ON COLUMN dp.datasets.groups IS
    'the table of groups, public unless groups_private, NULL if the groups are those that occur';

COMMENT ON COLUMN dp.datasets.groups_private IS
    'whether the number of groups is private, so that releases tell it with noise';

COMMENT ON COLUMN dp.datasets.regions IS
    'the public table of regions of a dataset with private groups, NULL if the root is the only one';
COMMENT ON COLUMN dp.datasets.other IS
    'the region that rows count in whose own is not in that table, NULL if they count nowhere';

CREATE OR REPLACE VIEW dp.ledger WITH (security_barrier) AS
    SELECT c.id, c.charged_at AS "when", c.charged_by AS who, d.name AS dataset, c.function,
           c.epsilon, c.delta, c.parameters, c.rho, c.epoch, c.hash,
           ARRAY(SELECT w.name FROM jsonb_array_elements_text(c.parameters -> 'within')
                                    WITH ORDINALITY AS w (name, n) ORDER BY w.n) AS within,
           c.parameters ->> 'period' AS period, (c.parameters ->> 'plan')::bigint AS plan
      FROM dp.charge AS c JOIN dp.dataset AS d ON d.id = c.dataset
     WHERE pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE');

COMMENT ON COLUMN dp.ledger.within IS 'the region whose rows were read, {} for all';

COMMENT ON COLUMN dp.ledger.period IS 'the periods whose rows were read, NULL for all';
COMMENT ON COLUMN dp.ledger.plan IS
    'the entry of the plan that it is charged with, NULL for most';

CREATE OR REPLACE VIEW dp.releases WITH (security_barrier) AS
    SELECT r.dataset, r.release AS name, r.released_at, c.epsilon, c.delta, r.parameters,
           nullif((SELECT count(*) FROM dp.release_region AS g WHERE g.release = r.id)
                  + (SELECT count(*) FROM dp.release_region_sums AS g WHERE g.release = r.id)
                  + (SELECT count(*) FROM dp.release_region_bins AS g WHERE g.release = r.id), 0)
               AS regions,
           r.level_epsilons, c.function, r.status, r.status_since, r.title, r.description, r.valid,
           c.charged_by AS released_by, p.name AS publication
      FROM dp.known_release AS r
      JOIN dp.charge AS c ON c.id = r.charge
      LEFT JOIN dp.publication AS p ON p.id = r.publication;

-- OFFSET 0 keeps the subquery apart, which asks for the sums of one release at a time. Of a join the planner
-- makes a plan that unpacks every release in the database, whoever may read it, to look for the one asked for.
CREATE OR REPLACE VIEW dp.range_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, s.grain, s.lower_bound, s.upper_bound, s.sum, s.stddev,
           s.sum - 1.6448536269514722 * s.stddev AS low,
           s.sum + 1.6448536269514722 * s.stddev AS high
      FROM dp.shown_release AS r
     CROSS JOIN LATERAL (
        SELECT * FROM dp.range_answer AS a WHERE a.release = r.id OFFSET 0) AS s;

CREATE VIEW dp.rectangle_answer AS
    SELECT s.release, s.row_lower, s.row_upper, s.column_lower, s.column_upper, s.sum, s.stddev
      FROM dp.release_rectangle AS s
    UNION ALL
    SELECT q.release, c.row_bin, c.row_bin + 1, c.column_bin, c.column_bin + 1, c.value, c.stddev
      FROM dp.release_grid AS q CROSS JOIN LATERAL @extschema@.dp_unnest(q.grid) AS c;

COMMENT ON VIEW dp.rectangle_answer IS
    'behind dp.rectangle_rows, the sums of stored releases, whoever they are for';

CREATE OR REPLACE VIEW dp.rectangle_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, s.row_lower, s.row_upper, s.column_lower, s.column_upper, s.sum,
           s.stddev, s.sum - 1.6448536269514722 * s.stddev AS low,
           s.sum + 1.6448536269514722 * s.stddev AS high
      FROM dp.shown_release AS r
     CROSS JOIN LATERAL (
        SELECT * FROM dp.rectangle_answer AS a WHERE a.release = r.id OFFSET 0) AS s;

COMMENT ON VIEW dp.rectangle_rows IS
    'the sums of all stored releases of rectangles, and the cells of those that answer any rectangle';

CREATE VIEW dp.region_range_answer AS
    SELECT g.release, g.region, g.path, q.grain, q.lower_bound, q.upper_bound, v.sum, v.stddev
      FROM dp.release_region_sums AS g
     CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(g.sums), pg_catalog.unnest(g.stddevs))
           WITH ORDINALITY AS v (sum, stddev, n)
      JOIN dp.release_range AS q ON (q.release, q.n) = (g.release, v.n - 1)
    UNION ALL
    SELECT g.release, g.region, g.path, '1', b.bin::text, (b.bin + 1)::text, b.value, b.stddev
      FROM dp.release_region_bins AS g CROSS JOIN LATERAL @extschema@.dp_unnest(g.ranges) AS b;

COMMENT ON VIEW dp.region_range_answer IS
    'behind dp.region_range_rows, the sums of stored releases by region, whoever they are for';

CREATE OR REPLACE VIEW dp.region_range_rows WITH (security_barrier) AS
    SELECT r.dataset, r.release, pg_catalog.cardinality(s.path) AS level,
           coalesce(r.hierarchy[pg_catalog.cardinality(s.path)], 'all') AS level_name,
           s.region, s.path, s.grain, s.lower_bound, s.upper_bound, s.sum, s.stddev,
           s.sum - 1.6448536269514722 * s.stddev AS low,
           s.sum + 1.6448536269514722 * s.stddev AS high
      FROM dp.shown_release AS r
     CROSS JOIN LATERAL (
        SELECT * FROM dp.region_range_answer AS a WHERE a.release = r.id OFFSET 0) AS s;

COMMENT ON VIEW dp.region_range_rows IS
    'the sums of all stored releases of ranges by region, and the bins of those that answer any range';

CREATE VIEW dp.release_grids WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, q.grid
      FROM dp.shown_release AS r JOIN dp.release_grid AS q ON q.release = r.id;

COMMENT ON VIEW dp.release_grids IS
    'the stored releases that answer any rectangle, each as one value for dp_rectangle_sums';

COMMENT ON COLUMN dp.release_grids.dataset IS 'the dataset that it was released from';

COMMENT ON COLUMN dp.release_grids.release IS 'the name of the release';

COMMENT ON COLUMN dp.release_grids.released_at IS 'when it was stored';

COMMENT ON COLUMN dp.release_grids.grid IS 'what dp_grid_release gave';

CREATE VIEW dp.release_region_ranges WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, pg_catalog.cardinality(g.path) AS level,
           coalesce(r.hierarchy[pg_catalog.cardinality(g.path)], 'all') AS level_name,
           g.region, g.path, g.ranges
      FROM dp.shown_release AS r JOIN dp.release_region_bins AS g ON g.release = r.id;

COMMENT ON VIEW dp.release_region_ranges IS
    'the stored releases that answer any range in any region, a value for each region';

COMMENT ON COLUMN dp.release_region_ranges.dataset IS 'the dataset that it was released from';

COMMENT ON COLUMN dp.release_region_ranges.release IS 'the name of the release';

COMMENT ON COLUMN dp.release_region_ranges.released_at IS 'when it was stored';

COMMENT ON COLUMN dp.release_region_ranges.level IS 'the level of the hierarchy, 0 for the root';

COMMENT ON COLUMN dp.release_region_ranges.level_name IS
    'the column of the hierarchy with the names of this level, or all for the root';

COMMENT ON COLUMN dp.release_region_ranges.region IS
    'the path as text, such as Ohio/Adams, or (all) for the root, with \ before / or \ in a name';

COMMENT ON COLUMN dp.release_region_ranges.path IS
    'the names of the region, from the top level down, {} for the root';

COMMENT ON COLUMN dp.release_region_ranges.ranges IS 'what dp_region_range_release gave';

-- of the others an administrator may have taken it
CREATE VIEW dp.found_regions WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, f.region, f.path
      FROM dp.shown_release AS r JOIN dp.release_found_region AS f ON f.release = r.id;
COMMENT ON VIEW dp.found_regions IS 'the regions that stored dp_find_regions have found';
COMMENT ON COLUMN dp.found_regions.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.found_regions.release IS 'the name of the release';
COMMENT ON COLUMN dp.found_regions.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.found_regions.region IS
    'the path as text, such as Ohio/Adams, with \ before / or \ in a name';
COMMENT ON COLUMN dp.found_regions.path IS 'the names of the region, from the top level down';

CREATE VIEW dp.found_bounds WITH (security_barrier) AS
    SELECT r.dataset, r.release, r.released_at, q.parameters ->> 'bound' AS bound,
           q.parameters ->> 'amount' AS amount, b.candidate, b.above, b.clipping, b.noise, b.chosen,
           c.parameters -> 'kept' = 'true' AS kept, q.seen
      FROM dp.shown_release AS r
      JOIN dp.release_bound AS b ON b.release = r.id
      JOIN dp.release AS q ON q.id = r.id
      JOIN dp.charge AS c ON c.id = q.charge;
COMMENT ON VIEW dp.found_bounds IS 'the candidates that stored dp_find_bound have chosen from';
COMMENT ON COLUMN dp.found_bounds.dataset IS 'the dataset that it was released from';
COMMENT ON COLUMN dp.found_bounds.release IS 'the name of the release';
COMMENT ON COLUMN dp.found_bounds.released_at IS 'when it was stored';
COMMENT ON COLUMN dp.found_bounds.bound IS 'the argument that it is for';
COMMENT ON COLUMN dp.found_bounds.amount IS 'the column of amounts, NULL where it is not for those';
COMMENT ON COLUMN dp.found_bounds.candidate IS 'a bound that could be chosen';
COMMENT ON COLUMN dp.found_bounds.above IS 'how many units, rows or entities are beyond it, by noisy counts';
COMMENT ON COLUMN dp.found_bounds.clipping IS 'how much it leaves out, by noisy counts';
COMMENT ON COLUMN dp.found_bounds.noise IS 'by how much a release is off by its noise';
COMMENT ON COLUMN dp.found_bounds.chosen IS 'whether it was chosen: its error is never far from the best one''s';
COMMENT ON COLUMN dp.found_bounds.kept IS 'whether the owner was charged for it, so that auto meant it from then on';
COMMENT ON COLUMN dp.found_bounds.seen IS 'whether any count stood out of the noise';
GRANT SELECT ON dp.release_grids, dp.release_region_ranges, dp.found_regions, dp.found_bounds TO PUBLIC;

-- With the rights of the caller, who owns the view, under a search_path where nothing is theirs.
CREATE OR REPLACE FUNCTION dp.create_view(dataset text, view_name text, release text, schema_name text)
    RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    own text[] := '{release,released_at,level,level_name,is_leaf,region,size,groups,
                    entities,size_band,size_band_order}';
    target text[];
    hierarchy text[];
    taken text[];
    level_columns text := '';
    level_column text;
    places integer[];
    alike boolean;
    function text;
    value_type text;
    by_region boolean;
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
    IF EXISTS (SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                WHERE (n.nspname, c.relname) = (target[1]::name, target[2]::name)) THEN
        RAISE 'view_name: relation "%" exists already', view_name
            USING ERRCODE = 'duplicate_table',
                  HINT = 'Give another view_name, or drop it first.';
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
        IF function IS NULL AND EXISTS (SELECT FROM dp.releases AS r
                                         WHERE (r.dataset, r.name) = ($1, $3)) THEN
            RAISE 'release "%" of dataset "%" was retracted', release, dataset
                USING ERRCODE = 'undefined_object',
                      HINT = 'Nobody sees its numbers; dp.releases shows since when. The'
                             ' dataset''s owner can publish it again with dp_set_status.';
        ELSIF function IS NULL THEN
            RAISE 'release "%" of dataset "%" does not exist', release, dataset
                USING ERRCODE = 'undefined_object',
                      HINT = 'The view dp.releases lists the stored releases.';
        ELSIF function IN ('dp_rectangle_sums', 'dp_grid_release') THEN
            RAISE 'release "%" of dataset "%" has rectangles, which have no such view',
                  release, dataset
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = CASE function WHEN 'dp_grid_release'
                          THEN 'The view dp.release_grids shows it, dp.rectangle_rows its cells.'
                          ELSE 'The view dp.rectangle_rows shows them.' END;
        ELSIF function = 'dp_find_regions' THEN
            RAISE 'release "%" of dataset "%" is of regions that were found, which have no such view',
                  release, dataset
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = 'The view dp.found_regions shows them.';
        ELSIF function = 'dp_find_bound' THEN
            RAISE 'release "%" of dataset "%" is of a bound that was chosen, which has no such view',
                  release, dataset
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = 'The view dp.found_bounds shows it.';
        END IF;
    ELSIF NOT EXISTS (SELECT FROM dp.release_histograms AS h WHERE h.dataset = $1) THEN
        SELECT min(r.parameters ->> 'value_type') INTO value_type
          FROM dp.releases AS r
         WHERE r.dataset = $1 AND r.status <> 'retracted'
           AND r.function NOT IN ('dp_region_range_sums', 'dp_region_range_release',
                                  'dp_stream_create')
        HAVING count(DISTINCT r.parameters ->> 'value_type') = 1;
        IF value_type IS NULL AND EXISTS (SELECT FROM dp.streams AS s WHERE s.dataset = $1) THEN
            RAISE 'dataset "%" has streams, each of which has a view of its own', dataset
                USING ERRCODE = 'undefined_object', HINT = 'Name one stream.';
        ELSIF value_type IS NULL THEN
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
    by_region := coalesce(function LIKE 'dp_region_range_%', false);
    IF by_region THEN
        own := '{release,released_at,level,level_name,region,path,grain,lower_bound,upper_bound,
                 sum,stddev,low,high}';
    END IF;

    -- Another dataset may have had the name, with other levels, or the same ones in other places.
    SELECT coalesce(array_agg(l.level_name ORDER BY l.lowest, l.level_name), '{}'),
           coalesce(array_agg(l.lowest ORDER BY l.lowest, l.level_name), '{}'),
           coalesce(bool_and(l.lowest = l.highest) AND count(DISTINCT l.lowest) = count(*), true)
      INTO hierarchy, places, alike
      FROM (SELECT r.level_name, min(r.level) AS highest, max(r.level) AS lowest
              FROM (SELECT a.release, a.level_name, a.level FROM dp.release_regions AS a
                     WHERE a.dataset = $1 AND NOT by_region
                    UNION ALL
                    SELECT a.release, a.level_name, a.level FROM dp.region_range_rows AS a
                     WHERE (a.dataset, a.release) = ($1, $3) AND function = 'dp_region_range_sums'
                    UNION ALL
                    SELECT a.release, a.level_name, a.level FROM dp.release_region_ranges AS a
                     WHERE (a.dataset, a.release) = ($1, $3)
                       AND function = 'dp_region_range_release') AS r
             WHERE (r.release = $3 OR $3 IS NULL) AND r.level > 0
             GROUP BY r.level_name) AS l;
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
        level_columns := level_columns || format(
            CASE WHEN alike THEN 's.path[%s] AS %I, '
                 ELSE 's.path[(h.levels ->> %3$L)::integer] AS %2$I, ' END,
            places[level], level_column, hierarchy[level]);
    END LOOP;

    IF value_type IS NOT NULL THEN
        EXECUTE format(
            'CREATE VIEW %1$I.%2$I AS
             SELECT s.release, n.released_at, %5$s s.grain, s.lower_bound::%3$s,
                    s.upper_bound::%3$s, s.sum, s.stddev, s.low, s.high
               FROM dp.%6$I AS s
               JOIN dp.releases AS n ON (n.dataset, n.name) = (s.dataset, s.release)
              WHERE s.dataset = %4$L AND %7$s',
            target[1], target[2], value_type::regtype, dataset,
            CASE WHEN by_region THEN 's.level, s.level_name, ' || level_columns
                                     || 's.region, s.path, ' END,
            CASE WHEN by_region THEN 'region_range_rows' ELSE 'range_rows' END,
            CASE WHEN release IS NULL THEN format('n.parameters ->> ''value_type'' = %L', value_type)
                 ELSE format('s.release = %L', release) END);
        RETURN;
    END IF;

    EXECUTE format(
        'CREATE VIEW %I.%I AS
         SELECT s.release, s.released_at, s.level, s.level_name, %s s.is_leaf, s.region, s.size,
                s.groups, s.entities, s.size_band, s.size_band_order
           FROM dp.release_sizes AS s %s WHERE s.dataset = %L %s',
        target[1], target[2], level_columns,
        CASE WHEN NOT alike THEN format(
            'LEFT JOIN (SELECT l.release, jsonb_object_agg(l.level_name, l.level) AS levels
                          FROM (SELECT DISTINCT r.release, r.level_name, r.level
                                  FROM dp.release_regions AS r
                                 WHERE r.dataset = %L AND r.level > 0) AS l
                         GROUP BY l.release) AS h ON h.release = s.release', dataset) END,
        dataset, CASE WHEN release IS NOT NULL THEN format('AND s.release = %L', release) END);
END $$;

-- The rows of the views of stored releases as COPY writes them, but for floating point: what COPY
-- writes of it depends on extra_float_digits, so here are its bytes in hexadecimal.
CREATE OR REPLACE VIEW dp.release_line AS
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
      FROM dp.rectangle_answer AS s
    UNION ALL
    SELECT s.release, 'path,grain,lower_bound,upper_bound,sum,stddev',
           pg_catalog.format('%s,%s,%s,%s,%s,%s', dp.csv(s.path::text), s.grain, s.lower_bound,
                             s.upper_bound, pg_catalog.encode(pg_catalog.float8send(s.sum), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(s.stddev), 'hex'))
      FROM dp.region_range_answer AS s
    UNION ALL
    SELECT f.release, 'path', dp.csv(f.path::text) FROM dp.release_found_region AS f
    UNION ALL
    SELECT b.release, 'candidate,above,clipping,noise,chosen',
           pg_catalog.format('%s,%s,%s,%s,%s', b.candidate, b.above,
                             pg_catalog.encode(pg_catalog.float8send(b.clipping), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(b.noise), 'hex'), b.chosen)
      FROM dp.release_bound AS b
    UNION ALL -- those so far
    SELECT t.release, 'tick,lower_bound,upper_bound,count,stddev,total,total_stddev',
           pg_catalog.format('%s,%s,%s,%s,%s,%s,%s', t.n, t.lower_bound, t.upper_bound,
                             pg_catalog.encode(pg_catalog.float8send(t.count), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(t.stddev), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(t.total), 'hex'),
                             pg_catalog.encode(pg_catalog.float8send(t.total_stddev), 'hex'))
      FROM dp.stream_tick AS t;

CREATE FUNCTION dp.lines_add(internal, line text) RETURNS internal
    AS 'MODULE_PATHNAME', 'lines_add_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp.lines_add(internal, text) IS 'transition function of dp.sha256_of_lines';
CREATE FUNCTION dp.lines_sha256(internal) RETURNS text
    AS 'MODULE_PATHNAME', 'lines_sha256_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp.lines_sha256(internal) IS 'final function of dp.sha256_of_lines';
CREATE AGGREGATE dp.sha256_of_lines(line text) (
    SFUNC = dp.lines_add, STYPE = internal, FINALFUNC = dp.lines_sha256, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp.sha256_of_lines(text) IS
    'inside of dp.release_certificates: SHA-256 of lines, in hexadecimal';

-- Nothing in it is more than the release itself tells, its charge, and how its dataset was declared.
-- An optional field is left out where nothing is known.
CREATE OR REPLACE VIEW dp.release_certificates WITH (security_barrier) AS
    SELECT r.dataset, r.release,
           pg_catalog.jsonb_build_object(
               'release', jsonb_strip_nulls(jsonb_build_object(
                   'dataset', r.dataset, 'name', r.release, 'function', c.function,
                   'counted_by', CASE WHEN c.function IN ('dp_coco_histogram', 'dp_range_release',
                                                          'dp_grid_release')
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
                                           'max_rows_per_unit', u.rows)
                   WHEN d.size_column IS NOT NULL
                   THEN jsonb_build_object('is', 'one more or less of what a column counts',
                                           'column', d.size_column)
                   ELSE jsonb_build_object('is', 'one row of the private table') END
                   || CASE WHEN d.groups_per_unit IS NULL THEN '{}' ELSE jsonb_build_object(
                          'groups', format('up to %s that appear or vanish with it, or one without'
                                           ' rows', least(d.groups_per_unit, u.rows))) END,
               'parameters', jsonb_build_object(
                   'epsilon', trim_scale(c.epsilon), 'delta', trim_scale(c.delta),
                   'rho', trim_scale(c.rho)),
               'mechanism', c.parameters)
           -- what counts of a release of a plan is what all of it was charged
           || CASE WHEN NOT c.parameters ? 'plan' THEN '{}' ELSE jsonb_build_object('charged_as_one', (
                  SELECT jsonb_build_object(
                             'entry', p.id, 'publication', p.parameters ->> 'name',
                             'releases', jsonb_array_length(p.parameters -> 'releases'),
                             'epsilon', trim_scale(p.epsilon), 'delta', trim_scale(p.delta),
                             'rho', trim_scale(p.rho),
                             -- drafts are their owner's
                             'with', (SELECT coalesce(jsonb_agg(k.release ORDER BY k.charge), '[]')
                                        FROM dp.known_release AS k
                                       WHERE k.dataset_id = p.dataset AND k.charge <> c.id
                                         AND k.charge BETWEEN p.id + 1 AND p.id
                                             + jsonb_array_length(p.parameters -> 'releases')))
                    FROM dp.charge AS p
                   WHERE p.id = (c.parameters ->> 'plan')::bigint)) END
           || pg_catalog.jsonb_build_object(
               'public', jsonb_build_object(
                   'groups', CASE
                       WHEN d.groups_per_unit IS NOT NULL
                       THEN 'none, their number was measured with noise'
                       ELSE coalesce('those of the table ' || d.groups_name,
                                     'those that occur in the rows, by declaration') END,
                   'group_key', d.group_key, 'hierarchy', d.hierarchy)
                   || CASE WHEN d.regions IS NULL THEN '{}' ELSE jsonb_build_object(
                          'regions', 'those of the table ' || d.regions_name
                                     || coalesce(format(', and "%s" for all others', d.other_region),
                                                 '')) END,
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
     CROSS JOIN LATERAL ( -- where dp_find_bound has chosen, what it had chosen then
        SELECT coalesce((c.parameters ->> 'max_rows_per_unit')::integer, d.max_rows_per_unit)
      ) AS u (rows)
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
                        SELECT s.release, s.path FROM dp.release_region_sums AS s
                        UNION ALL
                        SELECT b.release, b.path FROM dp.release_region_bins AS b) AS g
                 WHERE g.release = r.id GROUP BY level) AS n
      ) AS l (regions)
     CROSS JOIN LATERAL (
        SELECT count(*),
               coalesce(min(v.columns), CASE c.function WHEN 'dp_find_regions' THEN 'path'
                                        ELSE 'level,path,size,groups' END) AS columns,
               dp.sha256_of_lines(v.line ORDER BY v.line COLLATE "C") AS sha256
          FROM dp.release_line AS v
         WHERE v.release = r.id AND r.status <> 'retracted'
      ) AS s;

-- Names that an earlier version stored, and those of roles, tables and columns, may end lines.
CREATE FUNCTION dp.in_a_line(value text, instead text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN regexp_replace(regexp_replace(value,
           '[\u0001-\u001F\u007F-\u009F\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2064\u2066-\u2069\uFEFF\uFFFE\uFFFF]',
           instead, 'g'),
           -- a terminal wraps lines, which many blanks could seem to end
           '[ \u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]+', ' ', 'g');
COMMENT ON FUNCTION dp.in_a_line(text, text) IS
    'inside of certificates and pictures: a value without what ends lines, moves text or is not seen';

CREATE FUNCTION dp.quoted_name(name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN '"' || replace(name, '"', '""') || '"';
COMMENT ON FUNCTION dp.quoted_name(text) IS
    'inside of dp_certificate_text: a name between quotes, which it cannot end';

CREATE OR REPLACE FUNCTION @extschema@.dp_certificate_text(dataset text, release text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT format(E'Certificate of release %s of dataset %s\n\n',
                  dp.in_a_line(dp.quoted_name(p.release ->> 'name'), '?'),
                  dp.in_a_line(dp.quoted_name(p.release ->> 'dataset'), '?'))
           || (SELECT string_agg(rpad(line.label, 15) || dp.in_a_line(line.value, '?') || E'\n', ''
                                 ORDER BY line.n)
                 FROM (VALUES
        (0, 'Status', CASE p.release ->> 'status'
                      WHEN 'retracted' THEN 'RETRACTED: its owner took the release back'
                      WHEN 'draft' THEN 'DRAFT: its owner has not published the release' END),
        (1, 'Hidden', concat(p.unit ->> 'is', ': ' || (p.unit ->> 'column'),
                             ', up to ' || (p.unit ->> 'max_rows_per_unit') || ' are used',
                             '; groups: ' || (p.unit ->> 'groups'))),
        (2, 'Rows of', nullif(concat_ws(' in ',
             nullif(ARRAY(SELECT w.name
                            FROM jsonb_array_elements_text(p.release #> '{arguments,within}')
                                 WITH ORDINALITY AS w (name, n) ORDER BY w.n)::text, '{}'),
             'period ' || (p.release #>> '{arguments,period}')), '')),
        (3, 'Promise', format('%s in the %s model, for %s', p.flavour ->> 'definition',
                              p.flavour ->> 'model', p.flavour ->> 'neighbours')),
        (4, 'Loss', format('epsilon %s, delta %s; in zCDP rho %s', p.parameters ->> 'epsilon',
                           p.parameters ->> 'delta', p.parameters ->> 'rho')),
        (5, 'Charged as one', CASE WHEN p.charged_as_one IS NOT NULL THEN
         format('epsilon %s, delta %s for the %s releases of publication %s together (ledger entry %s)',
                p.charged_as_one ->> 'epsilon', p.charged_as_one ->> 'delta',
                p.charged_as_one ->> 'releases', dp.quoted_name(p.charged_as_one ->> 'publication'),
                p.charged_as_one ->> 'entry')
         || coalesce(', the others: ' || (
                SELECT string_agg(dp.quoted_name(o.name), ', ' ORDER BY o.n)
                  FROM jsonb_array_elements_text(p.charged_as_one -> 'with')
                       WITH ORDINALITY AS o (name, n)), '') END),
        (6, 'All releases',
         format('%s, which together cost epsilon %s of %s, delta %s of %s', p.total ->> 'releases',
                p.total ->> 'epsilon_spent', p.total ->> 'epsilon_budget',
                p.total ->> 'delta_spent', p.total ->> 'delta_budget')),
        (7, '', 'and add up with those of ' || nullif(p.total ->> 'adds_up_with', '[]')),
        (8, 'Made by', format('%s %s', p.release ->> 'function', p.release ->> 'arguments')),
        (9, 'Mechanism', p.mechanism::text),
        (10, 'Accuracy',
         format('levels were measured with epsilon %s, error bars by %s',
                p.accuracy ->> 'level_epsilons', p.accuracy ->> 'error_bars')),
        (11, 'Public', format('the groups: %s', p.public ->> 'groups')),
        (12, '', format('group key %s, hierarchy %s', p.public ->> 'group_key',
                        p.public ->> 'hierarchy')),
        (13, 'Not protected', p.not_protected),
        (14, 'Charged', format('%s, by %s', p.release ->> 'charged_at',
                               p.release ->> 'charged_by')),
        (15, 'Stored', p.release ->> 'stored_at'),
        (16, 'Software', format('pg_dp %s, PostgreSQL %s', p.implementation ->> 'pg_dp',
                                p.implementation ->> 'postgresql')),
        (17, 'Ledger entry', format('%s, SHA-256 %s', p.ledger ->> 'id', p.ledger ->> 'hash')),
        (18, 'Rows', format('%s, SHA-256 %s', p.rows ->> 'count', p.rows ->> 'sha256'))
                      ) AS line (n, label, value)
                WHERE line.value IS NOT NULL
                  -- what is not known, or not for the caller
                  AND (line.n <> 6 OR p.total IS NOT NULL)
                  AND (line.n <> 10 OR p.accuracy ? 'level_epsilons')
                  AND (line.n <> 18 OR p.rows IS NOT NULL))
      FROM jsonb_to_record(@extschema@.dp_certificate(dataset, release)) AS p (
               release jsonb, flavour jsonb, unit jsonb, parameters jsonb, charged_as_one jsonb,
               mechanism jsonb, public jsonb, not_protected text, accuracy jsonb, implementation jsonb, ledger jsonb,
               rows jsonb, total jsonb);
END;

CREATE OR REPLACE VIEW dp.check_datasets WITH (security_barrier) AS
    SELECT d.name AS dataset, d.owner, d.entities,
           -- the public table, and then that of private groups
           CASE WHEN d.groups_per_unit IS NULL THEN d.groups ELSE d.regions END AS groups, d.leaves,
           CASE WHEN d.groups_per_unit IS NOT NULL THEN d.groups END AS private_groups
      FROM dp.dataset AS d
     WHERE d.dropped_at IS NULL AND pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE')
       AND pg_catalog.pg_has_role(d.owner, 'USAGE');

CREATE OR REPLACE VIEW dp.check_private WITH (security_invoker) AS
    SELECT d.dataset, p.relid, min(p.part) AS part
      FROM dp.check_datasets AS d
     CROSS JOIN LATERAL (SELECT * FROM dp.private_relations(d.entities, d.groups)
                         UNION ALL SELECT * FROM dp.private_relations(d.leaves, NULL)
                         UNION ALL
                         SELECT * FROM dp.private_relations(d.private_groups, d.groups)) AS p
     GROUP BY d.dataset, p.relid;

CREATE OR REPLACE VIEW dp.check_schema_objects WITH (security_invoker) AS
    -- a query is planned, and debug_print_plan prints that with estimates from the planner's
    -- statistics, before the privileges on its tables are checked; those on a schema come first
    SELECT DISTINCT p.dataset,
           'the schema of the private table: plans with estimates can be printed' AS what,
           n.oid AS objid, n.nspacl AS acl, ARRAY['USAGE'] AS privileges, n.nspowner AS owner,
           true AS for_owner,
           CASE WHEN n.oid = x.extnamespace -- without USAGE nobody could call pg_dp
                THEN '-- move the private tables to another schema (ALTER TABLE ... SET SCHEMA, then'
                     ' dp_confirm_dataset): pg_dp is in this one'
                WHEN n.nspname = 'public'
                THEN ' -- or have the table in another schema, which is better'
                ELSE ''
           END AS further
      FROM dp.check_private AS p
      JOIN pg_catalog.pg_class AS c ON c.oid = p.relid AND p.part < 4
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_extension AS x ON x.extname = 'pg_dp'
    UNION ALL
    SELECT l.dataset, 'a schema where functions of pg_dp are looked up', n.oid, n.nspacl,
           ARRAY['CREATE'], n.nspowner, false, ''
      FROM dp.check_lookups AS l JOIN pg_catalog.pg_namespace AS n ON n.oid = l.schema;
-- A grant by somebody who had the grant option is revoked in that role.
CREATE OR REPLACE VIEW dp.check_grants (role, dataset, hole, object, remedy) WITH (security_invoker) AS
    SELECT h.role, d.dataset, g.privilege_type || ' on ' || o.what, o.identity || o.columns,
           CASE WHEN o.further LIKE '-- %' THEN o.further -- no statement closes it
           ELSE pg_catalog.format(
                    CASE WHEN g.grantor = o.owner THEN '%2$s'
                         ELSE 'SET ROLE %1$s; %2$s; RESET ROLE' END,
                    g.grantor::regrole,
                    pg_catalog.format(
                        'REVOKE %s%s ON %s FROM %s%s', g.privilege_type, o.columns, o.target,
                        h.name, CASE WHEN g.is_grantable THEN ' CASCADE' END))
                || pg_catalog.format(o.further, h.name)
           END
      FROM dp.check_objects AS o
     CROSS JOIN LATERAL pg_catalog.aclexplode(o.acl) AS g
      JOIN dp.check_grantees AS h ON h.grantee = g.grantee
      JOIN dp.check_datasets AS d
           ON d.dataset = coalesce(o.dataset, d.dataset) AND d.owner <> h.role
     WHERE g.grantee NOT IN (o.owner, d.owner)
       AND (o.privileges IS NULL OR g.privilege_type = ANY (o.privileges));
CREATE FUNCTION dp.plot_time(bound text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN bound ~ '^[0-9]{4}-[0-9-]{5}T[0-9:]{8}(\.[0-9]+)?\+00:00$'
            THEN concat(to_char(bound::timestamptz, 'YYYY-MM-DD"T"HH24:MI:SS'),
                        substring(bound FROM '\.[0-9]+'), to_char(bound::timestamptz, 'TZH:TZM'))
            ELSE bound END;
COMMENT ON FUNCTION dp.plot_time(text) IS
    'inside of dp_plot: a time in UTC as the session''s clock tells it, and whatever else as it is';

CREATE FUNCTION dp.plot_of_ranges(dataset text, release text, path text[], grain text)
    RETURNS TABLE (n bigint, label text, value float8, lower float8, upper float8)
    LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 25 SET search_path = pg_catalog, pg_temp
AS $$
    WITH of_release AS (
        SELECT r.grain, r.lower_bound AS begin, r.upper_bound AS "end", r.sum, r.low, r.high
          FROM dp.range_rows AS r WHERE (r.dataset, r.release) = ($1, $2)
        UNION ALL
        SELECT r.grain, r.lower_bound, r.upper_bound, r.sum, r.low, r.high
          FROM dp.region_range_rows AS r WHERE (r.dataset, r.release, r.path) = ($1, $2, $3)
        UNION ALL
        SELECT 'tick', t.lower_bound, t.upper_bound, t.count,
               t.count - 1.6448536269514722 * t.stddev, t.count + 1.6448536269514722 * t.stddev
          FROM dp.stream_ticks AS t WHERE (t.dataset, t.stream) = ($1, $2)
    ), places AS (
        SELECT o.*, CASE WHEN o.begin ~ '^-?[0-9]+$' THEN o.begin::numeric END AS first,
               CASE WHEN o."end" ~ '^-?[0-9]+$' THEN o."end"::numeric END AS past
          FROM of_release AS o
    ), neighbours AS (
        SELECT p.*, coalesce(lag(p.past) OVER in_order <= p.first,
                             lag(p."end") OVER in_order <= p.begin,
                             row_number() OVER in_order = 1) AS is_apart
          FROM places AS p
        WINDOW in_order AS (ORDER BY p.begin IS NOT NULL, p.first, p.begin, p.past, p."end")
    ), chosen AS (
        SELECT p.* FROM neighbours AS p
         WHERE p.grain = coalesce($4, CASE
                   -- all of them have their place beside each other
                   WHEN (SELECT bool_and(a.is_apart) FROM neighbours AS a) THEN p.grain
                   ELSE (SELECT g.grain FROM of_release AS g
                          GROUP BY g.grain ORDER BY count(*) DESC, g.grain LIMIT 1) END)
    ), shown AS (
        SELECT c.*, dp.plot_time(c.begin) AS since, dp.plot_time(c."end") AS until FROM chosen AS c
    )
    SELECT row_number() OVER (ORDER BY s.begin IS NOT NULL, s.first, s.begin, s.past, s."end"),
           CASE WHEN s.grain <> 'open' AND l.is_one THEN l.since
                ELSE concat(CASE WHEN l.since IS NULL THEN '(' ELSE '[' END, l.since, ',',
                            l.until, ')') END,
           s.sum, round(s.low::numeric, 1)::float8, round(s.high::numeric, 1)::float8
      FROM shown AS s
     CROSS JOIN LATERAL (
        SELECT (SELECT count(DISTINCT c.grain) = 1 FROM chosen AS c),
               regexp_replace(s.since, 'T00:00:00([+-][0-9:]+)?$', ''),
               regexp_replace(s.until, 'T00:00:00([+-][0-9:]+)?$', '')) AS l (is_one, since, until)
$$;
COMMENT ON FUNCTION dp.plot_of_ranges(text, text, text[], text) IS
    'inside of dp_plot: ranges of one length, or all if none overlap, and ticks';

CREATE OR REPLACE FUNCTION @extschema@.dp_plot(
        dataset text, release text, path text[] DEFAULT '{}', grain text DEFAULT NULL)
    RETURNS TABLE (label text, value float8, lower float8, upper float8, plot text)
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 25 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cells CONSTANT int := 40; -- of the widest bar
    made_by text;
    of_sizes boolean;
BEGIN
    IF dataset IS NULL OR release IS NULL OR path IS NULL THEN
        RAISE '% must not be NULL', CASE WHEN dataset IS NULL THEN 'dataset'
                                         WHEN release IS NULL THEN 'release' ELSE 'path' END
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'Name a stored release, and the path of a region: {} for the root.';
    END IF;

    SELECT r.function INTO made_by FROM dp.releases AS r
     WHERE (r.dataset, r.name) = ($1, $2) AND r.status <> 'retracted';
    of_sizes := made_by IN ('dp_hierarchy_release', 'dp_coco_histogram');
    IF made_by IS NULL AND EXISTS (SELECT FROM dp.releases AS r
                                    WHERE (r.dataset, r.name) = ($1, $2)) THEN
        RAISE 'release "%" of dataset "%" was retracted', $2, $1
            USING ERRCODE = 'undefined_object',
                  HINT = 'Nobody sees its numbers; dp.releases shows since when. The dataset''s'
                         ' owner can publish it again with dp_set_status.';
    ELSIF made_by IS NULL THEN
        RAISE 'release "%" of dataset "%" does not exist', $2, $1
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.releases lists the stored releases.';
    ELSIF made_by IN ('dp_rectangle_sums', 'dp_grid_release') THEN
        RAISE 'release "%" of dataset "%" is of rectangles: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.rectangle_rows shows them.';
    ELSIF made_by = 'dp_find_regions' THEN
        RAISE 'release "%" of dataset "%" is of regions that were found: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.found_regions shows them.';
    ELSIF made_by = 'dp_find_bound' THEN
        RAISE 'release "%" of dataset "%" is of a bound that was chosen: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.found_bounds shows it.';
    ELSIF of_sizes AND NOT EXISTS (SELECT FROM dp.release_regions AS r
                                    WHERE (r.dataset, r.release, r.path) = ($1, $2, $3)) THEN
        RAISE 'release "%" of dataset "%" has no region %', $2, $1, $3
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.release_regions lists the regions, each with its path.';
    ELSIF made_by LIKE 'dp_region_range_%' AND NOT EXISTS (
            SELECT FROM dp.region_range_rows AS r
             WHERE (r.dataset, r.release, r.path) = ($1, $2, $3)) THEN
        RAISE 'release "%" of dataset "%" has no region %', $2, $1, $3
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.region_range_rows shows the regions, each with its path.';
    ELSIF NOT of_sizes AND made_by NOT LIKE 'dp_region_range_%' AND $3 <> '{}' THEN
        RAISE 'release "%" of dataset "%" has no regions', $2, $1
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out path.';
    ELSIF $4 IS NOT NULL AND (of_sizes OR made_by = 'dp_stream_create') THEN
        RAISE 'release "%" of dataset "%" has no grain', $2, $1
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out grain.';
    ELSIF $4 IS NOT NULL AND NOT EXISTS (SELECT FROM dp.plot_of_ranges($1, $2, $3, $4)) THEN
        RAISE 'release "%" of dataset "%" has no range of grain "%"', $2, $1, $4
            USING ERRCODE = 'undefined_object',
                  HINT = 'The views dp.range_rows and dp.region_range_rows show the ranges, each'
                         ' with its grain.';
    END IF;

    RETURN QUERY
    WITH numbers AS (
        SELECT * FROM dp.plot_of_sizes($1, $2, $3) WHERE of_sizes
        UNION ALL
        SELECT * FROM dp.plot_of_ranges($1, $2, $3, $4) WHERE NOT of_sizes
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
CREATE FUNCTION dp.svg_text(shown text, most int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
-- control characters have no place in XML
RETURN replace(replace(replace(dp.in_a_line(
           CASE WHEN length(shown) > most THEN left(shown, most - 1) || '…' ELSE shown END, ' '),
           '&', '&amp;'), '<', '&lt;'), '>', '&gt;');
COMMENT ON FUNCTION dp.svg_text(text, int) IS
    'inside of dp_plot_svg: a name as text of XML, with that many characters at most';

CREATE OR REPLACE FUNCTION @extschema@.dp_plot_svg(
        dataset text, release text, path text[] DEFAULT '{}', grain text DEFAULT NULL)
    RETURNS text LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- where the axes are, in a picture of 720 by 400
    edge int;
    top CONSTANT int := 64;
    bottom int := 340;
    rows int;
    every int := 1; -- which of the labels are written
    labels text[];
    longest int;
    slot numeric; -- the width of a row
    "values" numeric[];
    lowers numeric[];
    uppers numeric[];
    lowest numeric;
    highest numeric;
    step numeric; -- between the marks of the axis of numbers
    marks int[]; -- the first and the last one, in steps
    scale numeric;
    zero numeric; -- where the bars begin
    asked record; -- the release
    of_sizes boolean;
    are_bars boolean;
    title text;
    subtitle text;
    drawn text;
BEGIN
    SELECT count(*), array_agg(dp.svg_text(p.label, 28) ORDER BY p.n),
           coalesce(least(max(length(p.label)), 28), 0),
           array_agg(p.value::numeric ORDER BY p.n), array_agg(p.lower::numeric ORDER BY p.n),
           array_agg(p.upper::numeric ORDER BY p.n),
           least(min(coalesce(p.lower, p.value)), 0)::numeric,
           greatest(max(coalesce(p.upper, p.value)), 0)::numeric
      INTO rows, labels, longest, "values", lowers, uppers, lowest, highest
      FROM @extschema@.dp_plot($1, $2, $3, $4)
           WITH ORDINALITY AS p (label, value, lower, upper, plot, n);
    SELECT r.function, r.title, r.parameters ->> 'amount' AS amount INTO asked
      FROM dp.releases AS r WHERE (r.dataset, r.name) = ($1, $2) AND r.status <> 'retracted';
    of_sizes := asked.function IN ('dp_hierarchy_release', 'dp_coco_histogram');
    are_bars := of_sizes OR rows <= 24;
    IF asked.amount IS NULL THEN -- there are no fewer rows than none
        lowest := 0;
    END IF;

    -- 1, 2, 5, 10, ... so that there are five marks at most, and one at the other end
    SELECT min(s.n) INTO step
      FROM (SELECT f * 10::numeric ^ k AS n
              FROM unnest('{1,2,5}'::int[]) AS f, generate_series(0, 19) AS k) AS s
     WHERE s.n * 5 >= highest - lowest;
    marks := ARRAY[floor(lowest / step), ceil(highest / step)];
    IF marks[1] = marks[2] THEN
        marks[2] := 1;
    END IF;
    edge := greatest(
        50 + 7 * (SELECT max(length(to_char(step * m, 'FM999,999,999,999,999,999,999')))
                    FROM unnest(marks) AS m), 5 * longest);
    slot := (700 - edge) / greatest(rows, 1)::numeric;
    IF slot < 7 * longest + 6 THEN -- they are written aslant
        bottom := 346 - 5 * longest;
        every := ceil(22 / slot);
    END IF;
    scale := (bottom - top) / (step * (marks[2] - marks[1]));
    zero := round(bottom + marks[1] * step * scale, 1);

    title := dp.svg_text(coalesce(asked.title, dataset || ', ' || release)
                         || CASE WHEN path = '{}' THEN ''
                                 ELSE ': ' || array_to_string(path, ', ') END, 80);
    subtitle := CASE
        WHEN rows = 0 THEN CASE WHEN of_sizes THEN 'No groups' ELSE 'Nothing yet' END
        WHEN of_sizes THEN 'Groups by the number of their entities'
        WHEN asked.amount IS NULL THEN 'Rows in each range'
        ELSE 'Sum of ' || dp.svg_text(asked.amount, 40) || ' in each range' END
        || CASE WHEN rows = 0 THEN '' WHEN are_bars THEN ', with 90 % error bars'
                ELSE ', with a band of 90 %' END;

    SELECT CASE WHEN are_bars THEN
               string_agg(concat_ws(E'\n',
                   format('<rect x="%s" y="%s" width="%s" height="%s" fill="#6b9ac4"/>',
                          round(r.x - slot * 0.4, 1), least(r.value, zero), round(slot * 0.8, 1),
                          abs(r.value - zero)),
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
                                       'rotate(-40)">%s</text>', r.x + 4, bottom + 14, r.label)
                           ELSE format('<text x="%s" y="%s" text-anchor="middle">%s</text>',
                                       r.x, bottom + 18, r.label) END, E'\n' ORDER BY r.n)
               FILTER (WHERE (r.n - 1) % every = 0)
      INTO drawn
      FROM (SELECT b.n, b.label, round(edge + slot * (b.n - 0.5), 1) AS x,
                   round(zero - greatest(b.value, lowest) * scale, 1) AS value,
                   round(zero - greatest(b.lower, lowest) * scale, 1) AS lower,
                   round(zero - greatest(b.upper, lowest) * scale, 1) AS upper
              FROM unnest(labels, "values", lowers, uppers)
                   WITH ORDINALITY AS b (label, value, lower, upper, n)) AS r;

    RETURN concat_ws(E'\n',
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" width="720" height="400"'
        ' font-family="sans-serif" font-size="12" fill="#222" role="img">',
        format('<title>%s</title>', title),
        '<rect width="720" height="400" fill="white"/>',
        format('<text x="%s" y="24" font-size="16">%s</text>', edge, title),
        format('<text x="%s" y="44" fill="#666">%s</text>', edge, subtitle),
        (SELECT string_agg(format(
                    '<path d="M%s %sH700" stroke="%s"/>'
                    '<text x="%s" y="%s" text-anchor="end">%s</text>',
                    edge, m.y, CASE WHEN i = 0 THEN '#222' ELSE '#ddd' END, edge - 8, m.y + 4,
                    to_char(step * i, 'FM999,999,999,999,999,999,990')), E'\n' ORDER BY i)
           FROM generate_series(marks[1], marks[2]) AS i
          CROSS JOIN LATERAL (SELECT round(zero - step * i * scale, 1) AS y) AS m),
        drawn,
        format('<text x="%s" y="390" text-anchor="middle">%s</text>', (edge + 700) / 2,
               CASE WHEN of_sizes THEN 'entities in a group'
                    WHEN labels[1] ~ '^[[(]' THEN 'range'
                    ELSE 'beginning of the range' END),
        format('<text text-anchor="middle" transform="translate(20 %s) rotate(-90)">%s</text>',
               (bottom + top) / 2, CASE WHEN of_sizes THEN 'groups'
                                        ELSE dp.svg_text(coalesce(asked.amount, 'rows'), 40) END),
        '</svg>');
END $$;

DROP FUNCTION dp.identity();

-- The type of ranges is that of the column.
CREATE OR REPLACE FUNCTION dp.ranges_of(dataset text, value_column text) RETURNS regtype
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
    IF value_column IS NULL THEN
        RAISE 'value_column must not be NULL'
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = format('Name a column of integers, dates or times of %s.', entities);
    END IF;
    WITH RECURSIVE of AS ( -- of a domain, what it is over
        SELECT a.atttypid AS type
          FROM pg_attribute AS a
         WHERE a.attrelid = entities AND a.attname = value_column AND NOT a.attisdropped
        UNION ALL
        SELECT t.typbasetype FROM of JOIN pg_type AS t ON t.oid = of.type AND t.typtype = 'd'
    )
    SELECT of.type INTO of_column
      FROM of JOIN pg_type AS t ON t.oid = of.type AND t.typtype <> 'd';
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
              value_column, dataset
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = format('The columns are those of %s.', entities);
    END IF;
    RETURN result;
END $$;

CREATE FUNCTION dp.check_published(function text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_check_published_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp.check_published(text) IS
    'inside of dp_publish: an error unless releases of that function can be published';

CREATE OR REPLACE FUNCTION dp.release_call(publication text, release jsonb) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
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
        RAISE 'releases: % is no object with a dataset', coalesce(left(release::text, 200), 'NULL')
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Such as [{"dataset": "census", "epsilon": 1}].';
    END IF;
    PERFORM dp.check_published(called);
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
                  CASE WHEN is_list THEN 'a list of values' ELSE 'one value' END,
                  left(value::text, 200)
                USING ERRCODE = 'invalid_parameter_value',
                      HINT = 'Values are strings or numbers, a range is a string such as "[0,18)".';
        END IF;
        -- SQL reads it as text, and what charges reads no name
        IF argument IN ('dataset', 'name') AND jsonb_typeof(value) = 'boolean' THEN
            RAISE 'releases: "%" must be a string, got %', argument, value
                USING ERRCODE = 'invalid_parameter_value', HINT = format('Write "%s".', value);
        END IF;
        IF jsonb_path_exists(value, '$[*] ? (@ > 1.7976931348623158e308 ||
                                             @ < -1.7976931348623158e308)')
        THEN
            RAISE 'releases: "%" has a number beyond those of float8, %...',
                  argument, left(value::text, 20)
                USING ERRCODE = 'numeric_value_out_of_range',
                      HINT = 'The largest is some 1.8e308.';
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

CREATE OR REPLACE FUNCTION dp.listed_releases(publication text, releases jsonb) RETURNS SETOF jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    twice record;
BEGIN
    IF publication IS NULL OR releases IS NULL THEN
        RAISE '% must not be NULL', CASE WHEN publication IS NULL THEN 'name' ELSE 'releases' END
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = CASE WHEN publication IS NULL THEN 'Name the publication.'
                              ELSE 'Such as [{"dataset": "census", "epsilon": 1}].' END;
    END IF;
    IF jsonb_typeof(releases) <> 'array' OR releases = '[]' THEN
        RAISE 'releases must be a list of at least one release'
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Such as [{"dataset": "census", "epsilon": 1}].';
    END IF;
    SELECT r ->> 'dataset' AS dataset, coalesce(r ->> 'name', publication) AS name INTO twice
      FROM jsonb_array_elements(releases) AS r WHERE r ->> 'dataset' IS NOT NULL
     GROUP BY 1, 2 HAVING count(*) > 1 LIMIT 1;
    IF FOUND THEN
        RAISE 'releases: two of dataset "%" have the name "%"', twice.dataset, twice.name
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'A release without a "name" has that of the publication.';
    END IF;
    RETURN QUERY SELECT * FROM jsonb_array_elements(releases);
END $$;

DROP PROCEDURE @extschema@.dp_publish(text, jsonb, boolean);
DROP FUNCTION dp.publish(text, jsonb, boolean);
DROP FUNCTION @extschema@.dp_publish_check(text, jsonb);
DROP FUNCTION @extschema@.dp_plan_cost(text, jsonb);
DROP FUNCTION dp.charge_quoted(text, jsonb);
DROP FUNCTION dp.try_quoted(text, jsonb);
DROP FUNCTION dp.cost_of_quoted(text);

CREATE FUNCTION dp.charge_quoted(name text, releases jsonb, delta float8) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_charge_quoted_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION dp.charge_quoted(text, jsonb, float8) IS
    'inside of dp_publish: charges all that was quoted, or nothing';

CREATE FUNCTION dp.try_quoted(name text, releases jsonb, delta float8)
    RETURNS TABLE (epsilon text, problem text, epsilon_left text)
    AS 'MODULE_PATHNAME', 'dp_try_quoted_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION dp.try_quoted(text, jsonb, float8) IS
    'inside of dp_publish_check: what charging all that was quoted would come to';

CREATE FUNCTION dp.cost_of_quoted(dataset text, delta float8)
    RETURNS TABLE (epsilon_exact float8, epsilon_zcdp float8, delta float8, mu float8,
                   epsilons text[], deltas text[])
    AS 'MODULE_PATHNAME', 'dp_cost_of_quoted_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION dp.cost_of_quoted(text, float8) IS
    'inside of dp_plan_cost: what all that was quoted comes to';

-- What is written is written by workers, which commit: so it does not matter what the caller's
-- transaction is or becomes. What a crash leaves is made by the same call again.
CREATE FUNCTION dp.publish(name text, releases jsonb, draft boolean, delta float8)
    RETURNS void
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
    PERFORM dp.charge_quoted(name, releases, delta);
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

COMMENT ON FUNCTION dp.publish(text, jsonb, boolean, float8) IS 'inside of dp_publish';

-- Its body was read when it was made: no search_path of the caller's changes what it means.
CREATE PROCEDURE @extschema@.dp_publish(
        name text, releases jsonb, draft boolean DEFAULT false, delta float8 DEFAULT NULL)
    LANGUAGE sql
BEGIN ATOMIC
    SELECT dp.publish(name, releases, draft, delta);
END;

COMMENT ON PROCEDURE @extschema@.dp_publish(text, jsonb, boolean, float8) IS
    'makes several releases, all or none, charged together and shown together';

CREATE FUNCTION @extschema@.dp_publish_check(
        name text, releases jsonb, delta float8 DEFAULT NULL)
    RETURNS TABLE (dataset text, epsilon float8, epsilon_left float8, already_stored boolean,
                   problem text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    release jsonb;
    quotes integer[] := '{}'; -- which quote is that of each release
    problems text[] := '{}';
    hint text;
    before integer;
    quoted integer;
    legible jsonb;
BEGIN
    IF current_setting('transaction_read_only')::boolean AND NOT pg_is_in_recovery() THEN
        RAISE 'a READ ONLY transaction cannot spend, so dp_publish_check cannot try to'
            USING ERRCODE = 'read_only_sql_transaction',
                  HINT = 'Nothing was spent. Use BEGIN READ WRITE: it spends nothing there, too.';
    END IF;
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
                GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
                problem := concat(sqlerrm, '. ' || nullif(hint, ''));
            END IF;
        END;
        quotes := quotes || CASE WHEN quoted > before THEN quoted END;
        problems := problems || problem;
    END LOOP;
    -- one that cannot be read, which has its problem, would have the others refused with it
    SELECT coalesce(jsonb_agg(r.release ORDER BY r.n), '[]') INTO legible
      FROM jsonb_array_elements(releases) WITH ORDINALITY AS r (release, n)
     WHERE problems[r.n] IS NULL
           OR jsonb_typeof(r.release -> 'dataset') IN ('string', 'number')
              AND NOT jsonb_path_exists(r.release, 'strict $.**{3 to last}')
              AND NOT jsonb_path_exists(r.release, 'strict $.** ? (@ > 1.7976931348623158e308 ||
                                                                   @ < -1.7976931348623158e308)');
    RETURN QUERY
        WITH tried AS MATERIALIZED (
            SELECT * FROM dp.try_quoted(name, legible, delta) WITH ORDINALITY
                     AS t (epsilon, problem, epsilon_left, n)
             WHERE legible <> '[]'
        )
        SELECT o.name, coalesce(t.epsilon::float8, 0),
               coalesce(t.epsilon_left::numeric,
                        (SELECT d.epsilon_left FROM dp.datasets AS d
                          WHERE d.name = o.name))::float8,
               quotes[r.n] IS NULL AND problems[r.n] IS NULL, coalesce(problems[r.n], t.problem)
          FROM jsonb_array_elements(releases) WITH ORDINALITY AS r (release, n)
         CROSS JOIN LATERAL (
            SELECT CASE WHEN jsonb_typeof(r.release -> 'dataset') IN ('string', 'number')
                        THEN r.release ->> 'dataset' END
         ) AS o (name)
          LEFT JOIN tried AS t ON t.n = quotes[r.n]
         ORDER BY r.n;
END $$;

COMMENT ON FUNCTION @extschema@.dp_publish_check(text, jsonb, float8) IS
    'what dp_publish would charge for each release, and what stands against it, for nothing';

-- Each release has a name that nothing has: so those that are stored are quoted, too.
CREATE FUNCTION @extschema@.dp_plan_cost(
        dataset text, releases jsonb, at_delta float8 DEFAULT NULL)
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
    IF current_setting('transaction_read_only')::boolean AND NOT pg_is_in_recovery() THEN
        RAISE 'a READ ONLY transaction cannot spend, so dp_plan_cost cannot try to'
            USING ERRCODE = 'read_only_sql_transaction',
                  HINT = 'Nothing was spent. Use BEGIN READ WRITE: it spends nothing there, too.';
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
          FROM dp.cost_of_quoted(dataset, at_delta) AS c
         CROSS JOIN LATERAL (
            SELECT CASE WHEN sum(e.delta::numeric) <= c.delta::numeric
                        THEN sum(e.epsilon::numeric)::float8 END AS epsilon_sum
              FROM unnest(c.epsilons, c.deltas) AS e (epsilon, delta)
         ) AS s;
END $$;

COMMENT ON FUNCTION @extschema@.dp_plan_cost(text, jsonb, float8) IS
    'what releases that are all settled beforehand cost together, exactly and by bounds';

CREATE OR REPLACE VIEW dp.publications WITH (security_barrier) AS
    SELECT p.name, p.made_by_name AS made_by, p.made_at, p.published_at,
           CASE WHEN o.is_own THEN p.releases ELSE (
               -- that there is a draft is for its owner
               SELECT coalesce(jsonb_agg(r.release ORDER BY r.n), '[]')
                 FROM jsonb_array_elements(p.releases) WITH ORDINALITY AS r (release, n)
                WHERE EXISTS (SELECT FROM dp.known_release AS k
                               WHERE (k.dataset, k.release)
                                     = (r.release ->> 'dataset', r.release ->> 'name'))) END
               AS releases
      FROM dp.publication AS p
     CROSS JOIN LATERAL (
        SELECT pg_catalog.pg_has_role(dp.role(p.made_by, p.made_by_name), 'USAGE')) AS o (is_own)
     WHERE p.published_at IS NOT NULL OR o.is_own;
COMMENT ON COLUMN dp.publications.releases IS
    'its releases, but for drafts that the caller may not know of';
