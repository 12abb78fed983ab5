\echo Use "ALTER EXTENSION pg_dp UPDATE" to load this file. \quit

-- From 0.1.0 to 0.2.0. tests/workflows/upgrade compares what it leads to with what the parts in sql/
-- make, and CONTRIBUTING.md tells how it is written.

SET LOCAL search_path = pg_catalog, pg_temp; -- as in 00_setup.sql

-- Parts of the data that share a budget.

ALTER TABLE dp.dataset ADD COLUMN period_column text, ADD COLUMN period_type text;

-- What was charged to parts of a dataset, which share its budget where no row lies in two of them.
CREATE TABLE dp.scope (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dataset bigint NOT NULL REFERENCES dp.dataset,
    tables text NOT NULL, -- a hash of the tables and columns that told rows apart
    regions text, -- and of which region each group lay in, NULL for all regions
    within text[] NOT NULL,
    period int8range NOT NULL, -- as the column's values are stored
    period_text text,
    epsilon_sum numeric NOT NULL,
    delta_sum numeric NOT NULL,
    rho_sum numeric NOT NULL,
    releases bigint NOT NULL
);

CREATE INDEX scope_dataset ON dp.scope (dataset);

COMMENT ON TABLE dp.scope IS
    'sums of the charges to parts of datasets, which dp_budget_cells shows';

SELECT pg_catalog.pg_extension_config_dump('dp.scope', '');

SELECT pg_catalog.pg_extension_config_dump('dp.scope_id_seq', '');

DROP FUNCTION @extschema@.dp_create_dataset(
    text, regclass, text[], text[], regclass, text, float8, float8, text, integer, regclass);

-- Datasets and budgets --------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_create_dataset(
        name text, entities regclass, group_key text[], hierarchy text[],
        groups regclass DEFAULT NULL, size_column text DEFAULT NULL,
        epsilon_budget float8 DEFAULT NULL, delta_budget float8 DEFAULT 0,
        privacy_unit text DEFAULT NULL, max_rows_per_unit integer DEFAULT NULL,
        leaves regclass DEFAULT NULL, period_column text DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_create_dataset_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_create_dataset(
        text, regclass, text[], text[], regclass, text, float8, float8, text, integer, regclass, text)
    IS 'declares a private table, its groups, their hierarchy, and the budget of its releases';

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
               count(*) AS n, sum(c.epsilon) AS epsilon, sum(c.delta) AS delta, sum(c.rho) AS rho
          FROM dp.charge AS c GROUP BY 1, 2, 3
    ), of_parts AS (
        SELECT s.dataset,
               jsonb_build_object('tables', s.tables, 'regions', s.regions,
                                  'lower', lower(s.period), 'upper', upper(s.period)) AS cells,
               CASE WHEN s.within <> '{}' THEN to_jsonb(s.within) END AS within,
               s.releases AS n, s.epsilon_sum AS epsilon, s.delta_sum AS delta, s.rho_sum AS rho
          FROM dp.scope AS s
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
                           sum(e.side * e.rho)) <> (0, 0, 0, 0)) AS u
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

DROP FUNCTION @extschema@.dp_hierarchy_release(
    text, float8, text[], text, bigint, float8[], text, boolean);

-- Releases of a hierarchy -----------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_hierarchy_release(
        dataset text, epsilon float8, estimators text[] DEFAULT '{auto}',
        consistency text DEFAULT 'matching', max_size bigint DEFAULT 10000,
        budget_shares float8[] DEFAULT NULL, name text DEFAULT NULL,
        keep_measurements boolean DEFAULT false, within text[] DEFAULT '{}',
        period text DEFAULT NULL)
    RETURNS TABLE (level int, path text[], size bigint, groups bigint)
    AS 'MODULE_PATHNAME', 'dp_hierarchy_release_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000;

-- with a search_path of its own, but not for each row
COMMENT ON FUNCTION @extschema@.dp_hierarchy_release(
        text, float8, text[], text, bigint, float8[], text, boolean, text[], text)
    IS 'releases the histogram of every region of a hierarchy with epsilon-differential privacy';

DROP FUNCTION @extschema@.dp_range_sums(
    text, text, int8range[], float8, float8, int8range, text, text, text, numeric, numeric,
    numeric, text);

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges int8range[], epsilon float8, delta float8 DEFAULT 0,
        bounds int8range DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount numeric DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased', within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (range int8range, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_numbers_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, int8range[], float8, float8, int8range, text, text, text, numeric, numeric, numeric, text,
        text[], text)
    IS 'releases how many rows of a dataset lie in ranges of integers, or sums of amounts';

DROP FUNCTION @extschema@.dp_range_sums(
    text, text, daterange[], interval, float8, float8, daterange, text, text, text, numeric, numeric,
    numeric, text);

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges daterange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds daterange DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount numeric DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased', within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (range daterange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_dates_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, daterange[], interval, float8, float8, daterange, text, text, text, numeric, numeric, numeric, text,
        text[], text)
    IS 'releases how many rows of a dataset lie in ranges of dates, or sums of amounts';

DROP FUNCTION @extschema@.dp_range_sums(
    text, text, tsrange[], interval, float8, float8, tsrange, text, text, text, numeric, numeric,
    numeric, text);

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges tsrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tsrange DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount numeric DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased', within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (range tsrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_timestamps_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, tsrange[], interval, float8, float8, tsrange, text, text, text, numeric, numeric, numeric, text,
        text[], text)
    IS 'releases how many rows of a dataset lie in ranges of timestamps, or sums of amounts';

DROP FUNCTION @extschema@.dp_range_sums(
    text, text, tstzrange[], interval, float8, float8, tstzrange, text, text, text, numeric, numeric,
    numeric, text);

CREATE FUNCTION @extschema@.dp_range_sums(
        dataset text, value_column text, ranges tstzrange[], bin_width interval, epsilon float8,
        delta float8 DEFAULT 0, bounds tstzrange DEFAULT NULL, method text DEFAULT 'auto',
        name text DEFAULT NULL, amount text DEFAULT NULL, max_amount numeric DEFAULT NULL,
        min_amount numeric DEFAULT 0, amount_unit numeric DEFAULT NULL,
        estimate text DEFAULT 'unbiased', within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS TABLE (range tstzrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_range_sums_of_timestamptzs_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;

COMMENT ON FUNCTION @extschema@.dp_range_sums(
        text, text, tstzrange[], interval, float8, float8, tstzrange, text, text, text, numeric, numeric, numeric, text,
        text[], text)
    IS 'releases how many rows of a dataset lie in ranges of timestamps with time zone, or sums of amounts';

-- Views of the catalog --------------------------------------------------------------------------

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
           u.leaves::regclass AS leaves, c.counted_at, u.period_column
      FROM usable AS u CROSS JOIN LATERAL @extschema@.dp_budget(u.name) AS b
      LEFT JOIN dp.leaf_count AS c ON c.dataset = u.id;

COMMENT ON COLUMN dp.datasets.period_column IS
    'the column that tells to which period a row belongs, NULL if none was declared';

CREATE OR REPLACE VIEW dp.ledger WITH (security_barrier) AS
    SELECT c.id, c.charged_at AS "when", c.charged_by AS who, d.name AS dataset, c.function,
           c.epsilon, c.delta, c.parameters, c.rho, c.epoch, c.hash,
           ARRAY(SELECT w.name FROM jsonb_array_elements_text(c.parameters -> 'within')
                                    WITH ORDINALITY AS w (name, n) ORDER BY w.n) AS within,
           c.parameters ->> 'period' AS period
      FROM dp.charge AS c JOIN dp.dataset AS d ON d.id = c.dataset
     WHERE pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE');

COMMENT ON COLUMN dp.ledger.within IS 'the region whose rows were read, {} for all';

COMMENT ON COLUMN dp.ledger.period IS 'the periods whose rows were read, NULL for all';
