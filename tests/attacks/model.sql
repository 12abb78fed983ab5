-- A plain model of the ledger, and a random walk that compares it with the ledger after each step: see `model`.

CREATE ROLE dp_test_owner;
CREATE ROLE dp_test_a;
CREATE ROLE dp_test_b;
CREATE ROLE dp_test_c;
GRANT CREATE ON SCHEMA public TO dp_test_owner;
SET ROLE dp_test_owner;
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL);
INSERT INTO household SELECT i, (ARRAY['CA', 'NY', 'UT'])[i % 3 + 1] FROM generate_series(1, 12) AS i;
CREATE TABLE person (id int, age int, quarter int NOT NULL);
INSERT INTO person SELECT i % 12 + 1, i % 90, i % 4 FROM generate_series(1, 48) AS i;
RESET ROLE;

CREATE TABLE kind (kind text, ends_well boolean);
INSERT INTO kind VALUES
    ('release', true), ('release', false), ('named', true), ('named', false), ('rolled back', true), ('invalid', false),
    ('publication', true), ('publication', false), ('plan', true), ('plan', false), ('grant', true), ('revoke', true), ('smallest', true),
    ('deed', true), ('drop', true), ('deed of others', false), ('period', true), ('period', false), ('period''s deed', true),
    ('period''s deed', false);
CREATE TABLE done (kind text, code text, n bigint, PRIMARY KEY (kind, code));
CREATE TABLE difference (n bigint, what text, found text, expected text);

-- The model: of each dataset twelve cells, three states by four quarters.
CREATE TYPE charge AS (cells int[], epsilon numeric, delta numeric, rho float8, least numeric, least_rho float8, releases int,
                       of_part boolean, first int, last int, is_plan boolean);
CREATE TABLE dataset (
    name text PRIMARY KEY, budget numeric, delta_budget numeric, smallest numeric,
    epsilon numeric[] DEFAULT array_fill(0::numeric, '{12}'), delta numeric[] DEFAULT array_fill(0::numeric, '{12}'),
    rho float8[] DEFAULT array_fill(0::float8, '{12}'), releases int DEFAULT 0, entries int DEFAULT 0);
-- Of a role that it was granted to, with what it spent, also by the quarters that it was spent on.
CREATE TABLE access (dataset text, role text, epsilon_limit numeric, spent numeric DEFAULT 0, revoked boolean, require_name boolean,
                     period_limit numeric, delta_limit numeric, delta_spent numeric DEFAULT 0, PRIMARY KEY (dataset, role));
CREATE TABLE spent_in (dataset text, role text, first int, last int, epsilon numeric, PRIMARY KEY (dataset, role, first, last));
-- Periods with budgets of their own, NULL for the dataset's.
CREATE TABLE opened (dataset text, first int, last int, budget numeric, delta_budget numeric, PRIMARY KEY (dataset, first, last));
CREATE TABLE stored (dataset text, name text, arguments text, PRIMARY KEY (dataset, name));
-- The loss in zCDP of Gaussian noise, which is not the ledger's to find out: as a first release of each kind was charged.
CREATE TABLE gaussian (epsilon numeric, delta numeric, rho float8);

-- Those of a state and of quarters, NULL for all.
CREATE FUNCTION cells(state int, first int, last int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(s * 4 + q + 1) FROM generate_series(0, 2) AS s, generate_series(0, 3) AS q
     WHERE (state IS NULL OR s = state) AND (first IS NULL OR q BETWEEN first AND last)
$$;

-- Canonne, Kamath, Steinke 2020, corollary 13, at the order where its derivative is 0, which Newton's steps come to.
CREATE FUNCTION zcdp(rho float8, delta float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    log CONSTANT float8 := -ln(delta);
    x float8 := sqrt(-ln(delta) / rho);
BEGIN
    FOR i IN 1..8 LOOP
        x := greatest(x - (rho * x * x + ln(1 + x) - log) / (2 * rho * x + 1 / (1 + x)), x / 8);
    END LOOP;
    RETURN greatest((1 + x) * rho + (log - ln(1 + x)) / x - ln(1 + 1 / x), 0);
END $$;

CREATE FUNCTION bound(rho float8, delta_budget numeric) RETURNS float8 LANGUAGE sql IMMUTABLE RETURN
    CASE WHEN delta_budget = 0 THEN 'Infinity' WHEN rho = 0 THEN 0 ELSE zcdp(rho, delta_budget::float8 / 2) END;

-- Whether a cell is within a budget: by the sums, or by the zCDP bound, each with half of delta.
CREATE FUNCTION fits(epsilon numeric, delta numeric, rho float8, budget numeric, delta_budget numeric) RETURNS boolean
    LANGUAGE sql IMMUTABLE RETURN
    epsilon <= budget AND delta <= delta_budget / 2 OR bound(rho, delta_budget) <= budget::float8;

-- What a charge by a role that may release ends with: 00000, after which the model has it.
CREATE FUNCTION charged(of text, by_role text, c charge) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    d dataset;
    a access;
    o opened;
BEGIN
    SELECT * INTO d FROM dataset WHERE name = of;
    FOR i IN 1..12 LOOP
        IF i = ANY (c.cells) THEN
            d.epsilon[i] := d.epsilon[i] + c.epsilon;
            d.delta[i] := d.delta[i] + c.delta;
            d.rho[i] := d.rho[i] + c.rho;
            IF NOT fits(d.epsilon[i], d.delta[i], d.rho[i], d.budget, d.delta_budget)
               OR c.is_plan AND d.delta[i] > d.delta_budget / 2 THEN
                RETURN '53400';
            END IF;
        END IF;
    END LOOP;
    FOR o IN SELECT * FROM opened AS x WHERE x.dataset = of LOOP
        FOR i IN 1..12 LOOP
            IF i = ANY (c.cells) AND (i - 1) % 4 BETWEEN o.first AND o.last
               AND (NOT fits(d.epsilon[i], d.delta[i], d.rho[i], coalesce(o.budget, d.budget), coalesce(o.delta_budget, d.delta_budget))
                    OR c.is_plan AND d.delta[i] > coalesce(o.delta_budget, d.delta_budget) / 2) THEN
                RETURN '53400';
            END IF;
        END LOOP;
    END LOOP;
    IF by_role <> 'dp_test_owner' THEN
        SELECT * INTO a FROM access AS x WHERE x.dataset = of AND x.role = by_role;
        IF a.epsilon_limit IS NULL AND (c.of_part OR a.period_limit IS NOT NULL)
           AND (a.period_limit IS NULL OR c.first IS NULL
                OR EXISTS (SELECT FROM generate_series(c.first, c.last) AS q
                            WHERE NOT EXISTS (SELECT FROM opened AS x WHERE x.dataset = of AND q BETWEEN x.first AND x.last))) THEN
            RETURN '42501';
        ELSIF a.spent + c.epsilon > a.epsilon_limit OR a.delta_spent + c.delta > a.delta_limit THEN
            RETURN '53400';
        ELSIF EXISTS (SELECT FROM opened AS x
                       WHERE x.dataset = of AND (c.first IS NULL OR c.first <= x.last AND x.first <= c.last)
                         AND c.epsilon + coalesce((SELECT sum(s.epsilon) FROM spent_in AS s
                                                    WHERE s.dataset = of AND s.role = by_role AND s.first <= x.last AND x.first <= s.last), 0)
                             > a.period_limit) THEN
            RETURN '53400';
        ELSIF c.least < d.smallest
              OR bound(c.least_rho * least(d.budget / d.smallest, 1e300)::float8, d.delta_budget) < d.budget::float8 THEN
            RETURN '22023';
        END IF;
        UPDATE access AS x SET spent = x.spent + c.epsilon, delta_spent = x.delta_spent + c.delta WHERE x.dataset = of AND x.role = by_role;
        INSERT INTO spent_in VALUES (of, by_role, coalesce(c.first, 0), coalesce(c.last, 3), c.epsilon)
            ON CONFLICT (dataset, role, first, last) DO UPDATE SET epsilon = spent_in.epsilon + c.epsilon;
    END IF;
    UPDATE dataset AS x SET epsilon = d.epsilon, delta = d.delta, rho = d.rho, releases = x.releases + c.releases,
                            entries = x.entries + c.releases + (c.least < c.epsilon)::int
     WHERE x.name = of;
    RETURN '00000';
END $$;

-- What stands in the way of a role before its charge, if anything does.
CREATE FUNCTION denied(of text, by_role text, named boolean) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN by_role = 'dp_test_owner' THEN NULL
                WHEN NOT EXISTS (SELECT FROM access WHERE dataset = of AND role = by_role AND NOT revoked) THEN '42501'
                WHEN NOT named AND (SELECT require_name FROM access WHERE dataset = of AND role = by_role) THEN '42501' END
$$;

-- What a statement of a role ends with.
CREATE FUNCTION outcome(by_role text, statement text, then_fail boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('role', by_role, false);
    EXECUTE statement;
    IF then_fail THEN
        RAISE 'undone' USING ERRCODE = 'TT000';
    END IF;
    RESET ROLE;
    RETURN '00000';
EXCEPTION
    WHEN SQLSTATE 'TT000' THEN RETURN '00000';
    WHEN OTHERS THEN RETURN SQLSTATE;
END $$;

CREATE PROCEDURE walk(operations bigint, seed float8) LANGUAGE plpgsql AS $$
DECLARE
    roles CONSTANT text[] := '{dp_test_owner,dp_test_owner,dp_test_a,dp_test_b,dp_test_c}';
    states CONSTANT text[] := '{CA,NY,UT}';
    pure CONSTANT numeric[] := '{0.01,0.02,0.05,0.1,0.25,0.5,0.0001}';
    made int := 0;
    what text; kind text; code text; expected text; by_role text;
    d dataset; a access; c charge; g gaussian; again stored; o opened; spent_before spent_in[];
    state int; first int; last int; from_quarter int; to_quarter int; called text; arguments text; one text; list jsonb; is_plan boolean; exact float8; at_delta float8;
    amount numeric; dice float8; told record; spent float8;
BEGIN
    PERFORM setseed((seed::numeric % 10007 / 10007)::float8);
    -- the losses of Gaussian noise
    PERFORM outcome('dp_test_owner', $s$SELECT dp_create_dataset('first', 'person', '{id}', '{state}', 'household', epsilon_budget => 100, delta_budget => 0.1)$s$);
    COMMIT;
    FOR g IN SELECT * FROM (VALUES (0.5, 1e-8), (0.25, 1e-9), (1, 3e-7)) AS v (epsilon, delta), (VALUES (0::float8)) AS z LOOP
        PERFORM outcome('dp_test_owner', format($s$SELECT dp_range_sums('first', 'age', '{"[0,18)"}'::int8range[], %s, %s, method => 'cascade')$s$, g.epsilon, g.delta));
        INSERT INTO gaussian SELECT g.epsilon, g.delta, l.rho FROM dp.ledger AS l ORDER BY l.id DESC LIMIT 1;
    END LOOP;
    IF (SELECT count(*) FROM gaussian) <> 3 OR (SELECT min(rho) FROM gaussian) = 0 THEN RAISE 'no losses'; END IF;
    PERFORM outcome('dp_test_owner', $s$SELECT dp_drop_dataset('first')$s$);

    FOR step IN 1..operations LOOP
        dice := random();
        SELECT * INTO d FROM dataset ORDER BY random() LIMIT 1;
        expected := NULL;
        IF (SELECT count(*) FROM dataset) < 5 OR dice < 0.01 THEN
            -- a dataset more, or one in place of another
            kind := 'create';
            IF (SELECT count(*) FROM dataset) >= 5 THEN
                kind := 'drop'; what := format('SELECT dp_drop_dataset(%L)', d.name);
                code := outcome('dp_test_owner', what);
                DELETE FROM dataset AS x WHERE x.name = d.name;
                DELETE FROM access AS x WHERE x.dataset = d.name;
                DELETE FROM stored AS x WHERE x.dataset = d.name;
                DELETE FROM opened AS x WHERE x.dataset = d.name;
                DELETE FROM spent_in AS x WHERE x.dataset = d.name;
            ELSE
                made := made + 1;
                d := NULL;
                d.name := 'd' || made; d.budget := (ARRAY[0.5, 1, 3, 8])[1 + floor(random() * 4)];
                d.delta_budget := (ARRAY[0, 0, 1e-6, 1e-5])[1 + floor(random() * 4)]; d.smallest := d.budget / 10000;
                what := format($s$SELECT dp_create_dataset(%L, 'person', '{id}', '{state}', 'household', epsilon_budget => %s, delta_budget => %s, period_column => 'quarter')$s$,
                               d.name, d.budget, d.delta_budget);
                code := outcome('dp_test_owner', what);
                INSERT INTO dataset (name, budget, delta_budget, smallest) VALUES (d.name, d.budget, d.delta_budget, d.smallest);
                COMMIT;
            END IF;
            expected := '00000';
        ELSIF dice < 0.08 THEN
            kind := CASE WHEN random() < 0.4 THEN 'revoke' ELSE 'grant' END;
            by_role := roles[3 + floor(random() * 3)];
            a := (d.name, by_role, CASE WHEN random() < 0.5 THEN (ARRAY[0.1, 0.5, 2])[1 + floor(random() * 3)] END, 0, false, random() < 0.5,
                  CASE WHEN random() < 0.5 THEN (ARRAY[0.05, 0.25, 1])[1 + floor(random() * 3)] END,
                  CASE WHEN random() < 0.3 THEN (ARRAY[0, 2e-8, 1e-6])[1 + floor(random() * 3)] END, 0);
            expected := '00000';
            IF kind = 'grant' THEN
                what := format('SELECT dp_grant(%L, %L, %s, require_name => %L, period_limit => %s, delta_limit => %s)', d.name, by_role,
                               coalesce(a.epsilon_limit::text, 'NULL'), a.require_name, coalesce(a.period_limit::text, 'NULL'), coalesce(a.delta_limit::text, 'NULL'));
                INSERT INTO access SELECT (a).* ON CONFLICT (dataset, role) DO UPDATE
                   SET epsilon_limit = a.epsilon_limit, revoked = false, require_name = a.require_name, period_limit = a.period_limit, delta_limit = a.delta_limit;
            ELSE
                what := format('SELECT dp_revoke(%L, %L)', d.name, by_role);
                UPDATE access AS x SET revoked = true WHERE x.dataset = d.name AND x.role = by_role AND NOT x.revoked;
                IF NOT FOUND THEN expected := '42704'; END IF;
            END IF;
            code := outcome('dp_test_owner', what);
            COMMIT;
        ELSIF dice < 0.10 THEN
            kind := 'smallest'; amount := (ARRAY[0.0001, 0.001, 0.02, 9])[1 + floor(random() * 4)];
            what := format('SELECT dp_set_smallest_charge(%L, %s)', d.name, amount);
            code := outcome('dp_test_owner', what);
            expected := CASE WHEN amount <= d.budget THEN '00000' ELSE '22023' END;
            UPDATE dataset AS x SET smallest = amount WHERE x.name = d.name AND amount <= d.budget;
            COMMIT;
        ELSIF dice < 0.13 THEN
            kind := 'deed'; amount := (ARRAY[0.1, 0.25, 1])[1 + floor(random() * 3)]; by_role := 'dp_test_owner';
            IF random() < 0.3 THEN kind := 'deed of others'; by_role := 'dp_test_a'; END IF;
            what := format('SELECT dp_raise_budget(%L, ''more'', %s, %s)', d.name, amount, (ARRAY[0, 1e-8])[1 + floor(random() * 2)]);
            code := outcome(by_role, what, random() < 0.3);
            expected := CASE kind WHEN 'deed' THEN '00000' ELSE '42501' END;
            UPDATE dataset AS x SET budget = x.budget + amount, delta_budget = x.delta_budget + CASE WHEN what LIKE '%e-08%' OR what LIKE '%0.00000001%' THEN 1e-8 ELSE 0 END, entries = x.entries + 1
             WHERE x.name = d.name AND kind = 'deed';
        ELSIF dice < 0.15 THEN
            -- a period is opened, or its budget raised
            first := floor(random() * 4); last := first + floor(random() * (4 - first) * 0.7);
            SELECT * INTO o FROM opened AS x WHERE x.dataset = d.name ORDER BY random() LIMIT 1;
            IF o IS NULL OR random() < 0.5 THEN
                kind := 'period';
                o := (d.name, first, last, CASE WHEN random() < 0.8 THEN (ARRAY[0.1, 0.25, 1, 5])[1 + floor(random() * 4)] END,
                      CASE WHEN random() < 0.3 THEN (ARRAY[0, 1e-6, 1e-3])[1 + floor(random() * 3)] END);
                what := format('SELECT dp_open_period(%L, ''[%s,%s)'', %s, %s)', d.name, first, last + 1, coalesce(o.budget::text, 'NULL'), coalesce(o.delta_budget::text, 'NULL'));
                expected := CASE
                    WHEN EXISTS (SELECT FROM opened AS x WHERE x.dataset = d.name AND x.first <= o.last AND o.first <= x.last) THEN '55000'
                    WHEN o.budget > d.budget OR o.delta_budget > d.delta_budget THEN '22023'
                    WHEN EXISTS (SELECT FROM generate_series(1, 12) AS i WHERE (i - 1) % 4 BETWEEN o.first AND o.last
                                    AND NOT fits(d.epsilon[i], d.delta[i], d.rho[i], coalesce(o.budget, d.budget), coalesce(o.delta_budget, d.delta_budget))) THEN '22023'
                    ELSE '00000' END;
                IF expected = '00000' THEN
                    INSERT INTO opened SELECT (o).*;
                    UPDATE dataset AS x SET entries = x.entries + 1 WHERE x.name = d.name;
                END IF;
            ELSE
                kind := 'period''s deed'; amount := (ARRAY[0.1, 0.25, 1])[1 + floor(random() * 3)];
                IF random() < 0.2 THEN
                    from_quarter := first; to_quarter := last; o := NULL;
                    SELECT * INTO o FROM opened AS x WHERE (x.dataset, x.first, x.last) = (d.name, from_quarter, to_quarter);
                END IF;
                what := format('SELECT dp_raise_budget(%L, ''more'', %s, period => ''[%s,%s)'')', d.name, amount, coalesce(o.first, first), coalesce(o.last, last) + 1);
                expected := CASE WHEN o IS NULL THEN '42704' WHEN o.budget IS NULL OR o.budget + amount > d.budget THEN '55000' ELSE '00000' END;
                IF expected = '00000' THEN
                    UPDATE opened AS x SET budget = x.budget + amount WHERE (x.dataset, x.first, x.last) = (o.dataset, o.first, o.last);
                    UPDATE dataset AS x SET entries = x.entries + 1 WHERE x.name = d.name;
                END IF;
            END IF;
            code := outcome('dp_test_owner', what, random() < 0.3);
        ELSIF dice < 0.20 THEN
            -- nothing of it reaches the ledger
            kind := 'invalid';
            by_role := roles[1 + floor(random() * 5)];
            what := format((ARRAY[
                $s$SELECT dp_range_sums(%L, 'age', '{"[0,18)"}'::int8range[], 0)$s$,
                $s$SELECT dp_range_sums(%L, 'age', '{"[0,18)"}'::int8range[], 'NaN')$s$,
                $s$SELECT dp_range_sums(%L, 'age', '{"[0,18)"}'::int8range[], 0.1, method => 'magic', name => 'x')$s$,
                $s$SELECT dp_range_sums(%L, 'age', '{"[0,18)"}'::int8range[], 0.1, within => '{Mars}', name => 'x')$s$,
                $s$SELECT dp_range_sums(%L, 'age', '{"[0,18)"}'::int8range[], 0.1, period => '[3,1)', name => 'x')$s$,
                $s$SELECT dp_hierarchy_release(%L, 0.1, consistency => 'magic', name => 'x')$s$])[1 + floor(random() * 6)], d.name);
            code := outcome(by_role, what);
            expected := code;
            IF code = '00000' THEN expected := 'an error'; END IF;
        ELSIF dice < 0.24 THEN
            -- several releases, some of them as one
            by_role := roles[1 + floor(random() * 5)];
            is_plan := random() < 0.5; kind := CASE WHEN is_plan THEN 'plan' ELSE 'publication' END;
            state := CASE WHEN random() < 0.5 THEN floor(random() * 3) END;
            at_delta := (ARRAY[1e-9, 1e-7, 4e-7])[1 + floor(random() * 3)];
            amount := pure[1 + floor(random() * 6)];
            list := (SELECT jsonb_agg(jsonb_build_object('dataset', d.name, 'function', 'dp_range_sums', 'value_column', 'age', 'method', 'flat',
                                                         'ranges', '["[0,18)"]'::jsonb, 'epsilon', amount, 'name', format('p%s of %s', step, i))
                                      || CASE WHEN state IS NULL THEN '{}' ELSE jsonb_build_object('within', jsonb_build_array(states[state + 1])) END)
                       FROM generate_series(1, CASE WHEN is_plan THEN 20 ELSE 2 END) AS i);
            what := format('CALL dp_publish(%L, %L%s)', 'p' || step, list, CASE WHEN is_plan THEN format(', delta => %s', at_delta) END);
            -- the type of its ranges is looked up among one's own datasets
            expected := CASE WHEN denied(d.name, by_role, true) IS NOT NULL THEN '42704' END;
            IF expected IS NULL THEN
                c := (cells(state, NULL, NULL), amount, 0, amount * tanh(amount::float8 / 2), amount, amount * tanh(amount::float8 / 2), 1,
                      state IS NOT NULL, NULL, NULL, false);
                IF is_plan THEN
                    -- of which there are tests of its own
                    SELECT p.epsilon_exact INTO exact FROM dp_plan_cost(d.name, list, at_delta) AS p;
                    is_plan := exact < 0.99 * 20 * amount;
                END IF;
                IF is_plan THEN
                    c.epsilon := exact::numeric; c.delta := at_delta::numeric; c.rho := 20 * c.rho; c.releases := 20; c.is_plan := true;
                END IF;
                a := NULL;
                spent_before := ARRAY(SELECT x FROM spent_in AS x WHERE x.dataset = d.name AND x.role = by_role);
                SELECT * INTO a FROM access AS x WHERE x.dataset = d.name AND x.role = by_role;
                FOR i IN 1 .. CASE WHEN is_plan THEN 1 ELSE jsonb_array_length(list) END LOOP
                    expected := charged(d.name, by_role, c);
                    EXIT WHEN expected <> '00000';
                END LOOP;
                IF expected <> '00000' THEN
                    -- all or none
                    UPDATE dataset AS x SET epsilon = d.epsilon, delta = d.delta, rho = d.rho, releases = d.releases, entries = d.entries WHERE x.name = d.name;
                    UPDATE access AS x SET spent = a.spent, delta_spent = a.delta_spent WHERE x.dataset = a.dataset AND x.role = a.role;
                    DELETE FROM spent_in AS x WHERE x.dataset = d.name AND x.role = by_role;
                    INSERT INTO spent_in SELECT * FROM unnest(spent_before);
                END IF;
            END IF;
            code := outcome(by_role, what, random() < 0.2);
        ELSE
            by_role := roles[1 + floor(random() * 5)];
            kind := CASE WHEN random() < 0.4 THEN 'named' WHEN random() < 0.2 THEN 'rolled back' ELSE 'release' END;
            state := CASE WHEN random() < 0.6 THEN floor(random() * 3) END;
            first := CASE WHEN random() < 0.5 THEN floor(random() * 4) END;
            last := first + floor(random() * (4 - first));
            amount := pure[1 + floor(random() * 7)];
            c := (cells(state, first, last), amount, 0, amount * tanh(amount::float8 / 2), amount, amount * tanh(amount::float8 / 2), 1,
                  state IS NOT NULL OR first IS NOT NULL, first, last, false);
            IF random() < 0.2 THEN
                SELECT * INTO g FROM gaussian AS x ORDER BY random() LIMIT 1;
                c := (c.cells, g.epsilon, g.delta, g.rho, g.epsilon, g.rho, 1, c.of_part, first, last, false);
            END IF;
            called := CASE kind WHEN 'named' THEN 'n' || floor(random() * 30) END;
            arguments := format('%s, %s, method => %L, within => %L, period => %s', c.epsilon, c.delta, CASE WHEN c.delta = 0 THEN 'flat' ELSE 'cascade' END,
                                CASE WHEN state IS NULL THEN '{}' ELSE format('{%s}', states[state + 1]) END,
                                CASE WHEN first IS NULL THEN 'NULL' ELSE format('''[%s,%s)''', first, last + 1) END);
            what := format($s$SELECT dp_range_sums(%L, 'age', '{"[0,18)"}'::int8range[], %s, name => %L)$s$, d.name, arguments, called);
            IF called IS NOT NULL AND random() < 0.3 THEN
                -- what is stored is asked for again
                SELECT x.* INTO again FROM stored AS x WHERE x.dataset = d.name ORDER BY random() LIMIT 1;
                IF FOUND THEN
                    called := again.name; arguments := again.arguments;
                    what := format($s$SELECT dp_range_sums(%L, 'age', '{"[0,18)"}'::int8range[], %s, name => %L)$s$, d.name, arguments, called);
                END IF;
            END IF;
            one := NULL;
            SELECT x.arguments INTO one FROM stored AS x WHERE x.dataset = d.name AND x.name = called;
            expected := denied(d.name, by_role, called IS NOT NULL);
            IF expected IS NULL AND one IS NOT NULL THEN
                expected := CASE WHEN one = arguments THEN '00000' ELSE '42710' END;
            ELSIF expected IS NULL THEN
                expected := charged(d.name, by_role, c);
                IF expected = '00000' AND called IS NOT NULL THEN
                    INSERT INTO stored VALUES (d.name, called, arguments);
                END IF;
            END IF;
            code := outcome(by_role, what, kind = 'rolled back');
        END IF;
        RESET ROLE;
        INSERT INTO done VALUES (kind, code, 1) ON CONFLICT ON CONSTRAINT done_pkey DO UPDATE SET n = done.n + 1;
        IF code IS DISTINCT FROM expected THEN
            INSERT INTO difference VALUES (step, what || ' by ' || coalesce(by_role, 'dp_test_owner'), code, expected);
        END IF;

        -- what the ledger says of the dataset
        SELECT * INTO d FROM dataset AS x WHERE x.name = d.name;
        CONTINUE WHEN d IS NULL;
        SELECT b.* INTO told FROM dp_budget(d.name) AS b;
        SELECT max(least(CASE WHEN u.delta <= d.delta_budget / 2 THEN u.epsilon::float8 END, bound(u.rho, d.delta_budget))) INTO spent
          FROM (SELECT DISTINCT * FROM unnest(d.epsilon, d.delta, d.rho)) AS u (epsilon, delta, rho);
        IF told.epsilon_budget <> d.budget OR told.delta_budget <> d.delta_budget OR told.releases <> d.releases
           OR abs(told.epsilon_spent - spent) > 1e-7 * (1 + spent)
           OR d.delta_budget = 0 AND told.epsilon_spent <> (SELECT max(e) FROM unnest(d.epsilon) AS e)
        THEN
            INSERT INTO difference VALUES (step, 'the budget after ' || what, told::text, format('%s %s %s %s', d.budget, d.delta_budget, spent, d.releases));
        END IF;
        IF step % 50 = 0 THEN
            INSERT INTO difference
            SELECT step, 'entries of ' || x.name, l.count::text, x.entries::text
              FROM dataset AS x LEFT JOIN LATERAL (SELECT count(*) FROM dp.ledger AS l WHERE l.dataset = x.name) AS l ON true
             WHERE l.count <> x.entries;
            INSERT INTO difference
            SELECT step, format('%s''s spending from %s', x.role, x.dataset), v.epsilon_spent::text, x.spent::text
              FROM access AS x JOIN dp.grants AS v ON (v.dataset, v.grantee::text) = (x.dataset, x.role)
             WHERE v.epsilon_spent <> x.spent;
        END IF;
        IF step % 1000 = 0 THEN
            INSERT INTO difference
            SELECT step, 'the ledger', v.problem, 'whole' FROM dp_verify_ledger() AS v WHERE NOT v.whole;
            COMMIT;
        END IF;
    END LOOP;
END $$;
