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
COMMENT ON VIEW dp.datasets IS
    'the datasets that you own or may release from, and what is spent of their budgets';
COMMENT ON COLUMN dp.datasets.name IS 'the name that releases and charges go by';
COMMENT ON COLUMN dp.datasets.owner IS 'the role that declared it';
COMMENT ON COLUMN dp.datasets.entities IS 'the private table';
COMMENT ON COLUMN dp.datasets.groups IS
    'the table of groups, public unless groups_private, NULL if the groups are those that occur';
COMMENT ON COLUMN dp.datasets.group_key IS
    'the columns of entities that tell which group a row belongs to';
COMMENT ON COLUMN dp.datasets.hierarchy IS
    'the columns of the levels of regions, from the top down';
COMMENT ON COLUMN dp.datasets.size_column IS
    'the column with sizes or histograms, NULL if rows are counted';
COMMENT ON COLUMN dp.datasets.privacy_unit IS
    'the column that tells whose a row is, NULL if each row is of another one';
COMMENT ON COLUMN dp.datasets.max_rows_per_unit IS
    'how many rows of one unit are counted at most, NULL if dp_find_bound is still to choose';
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
COMMENT ON COLUMN dp.datasets.period_column IS
    'the column that tells to which period a row belongs, NULL if none was declared';
COMMENT ON COLUMN dp.datasets.groups_private IS
    'whether the number of groups is private, so that releases tell it with noise';
COMMENT ON COLUMN dp.datasets.regions IS
    'the public table of regions of a dataset with private groups, NULL if the root is the only one';
COMMENT ON COLUMN dp.datasets.other IS
    'the region that rows count in whose own is not in that table, NULL if they count nowhere';

CREATE VIEW dp.grants WITH (security_barrier) AS
    SELECT d.name AS dataset, a.grantee::regrole AS grantee, a.epsilon_limit,
           pg_catalog.trim_scale(a.epsilon_spent) AS epsilon_spent, a.granted_at, a.granted_by,
           a.require_name, a.period_limit, a.delta_limit,
           pg_catalog.trim_scale(a.delta_spent) AS delta_spent
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
COMMENT ON COLUMN dp.grants.period_limit IS
    'the epsilon that it may spend in each opened period, NULL for what is left of the budget';
COMMENT ON COLUMN dp.grants.delta_limit IS
    'the delta that it may spend in all, NULL for what is left of the budget';
COMMENT ON COLUMN dp.grants.delta_spent IS 'the delta that it has spent';

CREATE VIEW dp.ledger WITH (security_barrier) AS
    SELECT c.id, c.charged_at AS "when", c.charged_by AS who, d.name AS dataset, c.function,
           c.epsilon, c.delta, c.parameters, c.rho, c.epoch, c.hash,
           ARRAY(SELECT w.name FROM jsonb_array_elements_text(c.parameters -> 'within')
                                    WITH ORDINALITY AS w (name, n) ORDER BY w.n) AS within,
           c.parameters ->> 'period' AS period, (c.parameters ->> 'plan')::bigint AS plan
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
COMMENT ON COLUMN dp.ledger.within IS 'the region whose rows were read, {} for all';
COMMENT ON COLUMN dp.ledger.period IS 'the periods whose rows were read, NULL for all';
COMMENT ON COLUMN dp.ledger.plan IS
    'the entry of the plan that it is charged with, NULL for most';

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
                  + (SELECT count(*) FROM dp.release_region_sums AS g WHERE g.release = r.id)
                  + (SELECT count(*) FROM dp.release_region_bins AS g WHERE g.release = r.id), 0)
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


