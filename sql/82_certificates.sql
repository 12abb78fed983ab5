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
COMMENT ON VIEW dp.release_line IS
    'inside of dp.release_certificates: what is hashed of the rows of a release';

-- What lines hash to, each with a line feed at its end.
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
CREATE VIEW dp.release_certificates WITH (security_barrier) AS
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

CREATE FUNCTION @extschema@.dp_certificate_text(dataset text, release text) RETURNS text
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
COMMENT ON FUNCTION @extschema@.dp_certificate_text(text, text) IS
    'dp_certificate as a page to read';
