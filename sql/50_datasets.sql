-- Datasets and budgets --------------------------------------------------------------------------

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

CREATE FUNCTION @extschema@.dp_grant(
        dataset text, role regrole, epsilon_limit float8 DEFAULT NULL,
        require_name boolean DEFAULT true, period_limit float8 DEFAULT NULL,
        delta_limit float8 DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_grant_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_grant(text, regrole, float8, boolean, float8, float8) IS
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

CREATE FUNCTION @extschema@.dp_budget_cells(dataset text)
    RETURNS TABLE (within text[], period text, epsilon_spent numeric, epsilon_left numeric,
                   releases bigint, picture text)
    AS 'MODULE_PATHNAME', 'dp_budget_cells_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_budget_cells(text) IS
    'what is spent and left of a dataset''s budget in each part of the data that was charged';

CREATE FUNCTION @extschema@.dp_budget_periods(dataset text)
    RETURNS TABLE (period text, epsilon_budget numeric, epsilon_spent numeric,
                   epsilon_left numeric, delta_budget numeric, picture text)
    AS 'MODULE_PATHNAME', 'dp_budget_periods_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_budget_periods(text) IS
    'what is spent and left of the budget of each period that dp_open_period opened';

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
COMMENT ON FUNCTION @extschema@.dp_verify_ledger() IS
    'tells whether an entry of the ledger was changed, removed or put in between';

-- Its body was read when it was made: what somebody adds to the extension's schema does not change what it means.
CREATE FUNCTION dp.ledger_problem() RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT v.problem FROM @extschema@.dp_verify_ledger() AS v;
END;
COMMENT ON FUNCTION dp.ledger_problem() IS
    'inside of dp_confirm_dataset: what dp_verify_ledger finds, NULL where the ledger is whole';


