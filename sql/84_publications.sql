
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

CREATE FUNCTION dp.show_publication(name text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_show_publication_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp.show_publication(text) IS
    'inside of dp_publish: shows a publication, all of whose releases are stored';

CREATE FUNCTION dp.check_published(function text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_check_published_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION dp.check_published(text) IS
    'inside of dp_publish: an error unless releases of that function can be published';

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
COMMENT ON FUNCTION dp.ranges_of(text, text) IS
    'inside of dp_publish: the type of ranges that are asked of a column';

-- One of releases as a call with a value for each argument, in the type that the function has.
CREATE FUNCTION dp.release_call(publication text, release jsonb) RETURNS text
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
COMMENT ON FUNCTION dp.listed_releases(text, jsonb) IS
    'inside of dp_publish: the releases of a publication, one by one';

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

CREATE VIEW dp.publications WITH (security_barrier) AS
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
COMMENT ON VIEW dp.publications IS
    'what was published by dp_publish, and of your own what is not complete yet';
COMMENT ON COLUMN dp.publications.name IS 'its name, which is one for each role';
COMMENT ON COLUMN dp.publications.made_by IS 'the role that called dp_publish';
COMMENT ON COLUMN dp.publications.made_at IS 'when it was charged';
COMMENT ON COLUMN dp.publications.published_at IS
    'since when its releases are shown, NULL while one is not stored';
COMMENT ON COLUMN dp.publications.releases IS
    'its releases, but for drafts that the caller may not know of';
GRANT SELECT ON dp.publications TO PUBLIC;
