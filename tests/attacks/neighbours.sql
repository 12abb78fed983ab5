-- Random sequences of releases of parts of the data, made from a table and from each of its neighbours: see `neighbours`.
--
-- Each epsilon is so large that all noise is 0, but with a probability of less than e^-300. What is released is then what was measured, and
-- each number in which a table and its neighbour differ makes the one likelier than the other by a factor whose logarithm is the
-- distance of the two over the scale of the noise: the loss, which is added up here.

CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL, county text NOT NULL);
-- the fifth and the sixth have nobody, and so has the sixth's state
INSERT INTO household VALUES (1, 'CA', 'a'), (2, 'CA', 'a'), (3, 'CA', 'b'), (4, 'NY', 'a'), (5, 'NY', 'a'), (6, 'UT', 'a');
CREATE TABLE household_at_first AS TABLE household;

-- The rows that some table has, with the unit of privacy that each belongs to.
CREATE TABLE entity (n int GENERATED ALWAYS AS IDENTITY, is_base boolean, id int, quarter int, unit text);
INSERT INTO entity (is_base, id, quarter, unit)
SELECT true, id, quarter, 'unit ' || (4 * array_position('{1,3,4}', id) + quarter) % 6
  FROM unnest('{1,3,4}'::int[]) AS id, generate_series(0, 3) AS quarter;
INSERT INTO entity (is_base, id, quarter, unit) VALUES
    (true, 2, 1, 'unit 7'), (true, 2, 2, 'unit 7'),
    -- of no period, of a late one, of no household, of one that is not listed
    (true, 1, NULL, 'unit 8'), (true, 4, 7, 'unit 8'), (true, NULL, 1, 'unit 9'), (true, 99, 2, NULL);

CREATE TABLE shape (shape text PRIMARY KEY, type text, key text[], hierarchy text[], groups regclass, unit text, bound dp_bound);
INSERT INTO shape VALUES
    ('homes', 'int8', '{id}', '{state,county}', 'household', NULL, NULL),
    ('residents', 'date', '{id,state}', '{state}', NULL, NULL, NULL), -- whose groups and regions are those that occur
    ('units', 'int8', '{id}', '{state,county}', 'household', 'unit', '2');

-- What a neighbour has not, and what it has more: one row or all of one unit, or one of either that is elsewhere, at twice the loss.
CREATE TABLE neighbour (shape text, k int, what text, removed int[], added int[], losses int, PRIMARY KEY (shape, k));
CREATE FUNCTION add_neighbour(of_shape text, called text, without int[], ids int[], quarters int[], of_unit text DEFAULT NULL) RETURNS void
LANGUAGE sql AS $$
    WITH added AS (
        INSERT INTO entity (is_base, id, quarter, unit)
        SELECT false, r.id, r.quarter, of_unit FROM unnest(ids, quarters) AS r (id, quarter) RETURNING n)
    INSERT INTO neighbour
    SELECT of_shape, (SELECT count(*) FROM neighbour AS x WHERE x.shape = of_shape), called, without,
           ARRAY(SELECT n FROM added), (without <> '{}')::int + (ids <> '{}')::int
$$;
CREATE FUNCTION row_of(id int, quarter int) RETURNS int[] LANGUAGE sql
RETURN (SELECT array_agg(n) FROM entity AS e WHERE is_base AND e.id = row_of.id AND e.quarter = row_of.quarter);
DO $$
BEGIN
    PERFORM add_neighbour(shape, 'the table itself', '{}', '{}', '{}') FROM shape;
    PERFORM add_neighbour(shape, format('without a row of household %s in quarter %s', id, quarter), ARRAY[n], '{}', '{}')
       FROM entity, unnest('{homes,residents}'::text[]) AS shape WHERE is_base;
    PERFORM add_neighbour(shape, 'a row moves', row_of(1, 1), '{4}', '{3}'),
            add_neighbour(shape, 'a row moves to another period', row_of(3, 2), '{3}', '{0}'),
            add_neighbour(shape, 'a row moves to another region', row_of(4, 0), '{1}', '{0}'),
            add_neighbour(shape, 'a row moves to no period', row_of(4, 2), '{4}', '{NULL}')
       FROM unnest('{homes,residents}'::text[]) AS shape;
    PERFORM add_neighbour('homes', 'a row where nobody is', '{}', '{6}', ARRAY[quarter]) FROM generate_series(0, 3) AS quarter;
    PERFORM add_neighbour('units', 'without ' || unit, array_agg(n), '{}', '{}') FROM entity WHERE is_base AND unit IS NOT NULL GROUP BY unit;
    PERFORM add_neighbour('units', 'a unit that is everywhere', '{}', array_agg(id), array_agg(quarter), 'unit 10')
       FROM unnest('{1,3,4,6}'::int[]) AS id, generate_series(0, 3) AS quarter, generate_series(1, 2);
    PERFORM add_neighbour('units', 'a unit at one place', '{}', '{4,4}', '{2,2}', 'unit 11'),
            add_neighbour('units', 'a unit of one row where nobody is', '{}', '{6}', '{2}', 'unit 12'),
            add_neighbour('units', 'a unit moves', (SELECT array_agg(n) FROM entity WHERE is_base AND unit = 'unit 3'), '{1,6}', '{1,3}', 'unit 3');
END $$;

-- The other columns follow from a row's number: whatever they are, a number of each release counts it.
CREATE VIEW person AS
SELECT e.n, e.id, h.state, e.n * 7 % 20 AS age, e.n * 3 % 10 AS weight, 2 + e.n % 2 * 3 AS paid, e.quarter,
       date '2020-01-01' + e.n % 5 AS arrived, e.unit, e.is_base
  FROM entity AS e LEFT JOIN household_at_first AS h USING (id);
-- An end of a quarter as text of a type of periods.
CREATE FUNCTION since(type text, quarter int) RETURNS text LANGUAGE sql IMMUTABLE
RETURN CASE type WHEN 'date' THEN (date '2026-01-01' + 90 * quarter)::text ELSE quarter::text END;
DO $$
DECLARE
    x record;
BEGIN
    FOR x IN SELECT * FROM neighbour JOIN shape USING (shape) LOOP
        EXECUTE format('CREATE TABLE %I AS SELECT id, state, age, weight, paid, arrived, unit, since(%L, quarter)::%s AS since
                                             FROM person WHERE is_base AND n <> ALL (%L) OR n = ANY (%L)',
                       format('%s %s', x.shape, x.k), x.type, x.type, x.removed, x.added);
    END LOOP;
END $$;

-- How a part of $1 is released, with epsilon $2 within $3 in period $4 as $5, and what of $1 is read as $2 afterwards: numbers by key and
-- place, and which level's noise each has, or of what scale where that is told. Without either, numbers that differ cost all of epsilon.
-- Of a histogram it is the running totals that differ, as a row moves one of these by 1. What is named is asked for twice.
CREATE TABLE kind (kind text PRIMARY KEY, shapes text[], of_periods text[], is_of_parts boolean, is_histogram boolean, is_named boolean,
                   query text, told text);
INSERT INTO kind VALUES
    ('ranges', '{homes,residents,units}', '{homes,residents,units}', true, false, false, $$
        SELECT range, 0, sum, 0, NULL::float8
          FROM dp_range_sums($1, 'age', '{"[0,5)","[5,10)","[10,20)"}'::int8range[], $2, method => 'flat', within => $3, period => $4)$$, NULL),
    ('amounts', '{homes,residents,units}', '{homes,residents,units}', true, false, false, $$
        SELECT range, 0, sum, 0, NULL::float8
          FROM dp_range_sums($1, 'age', '{"[0,5)","[5,10)","[10,20)"}'::int8range[], $2, method => 'flat', amount => 'paid', max_amount => '2',
                             within => $3, period => $4)$$, NULL),
    ('ranges of a tree', '{homes,residents,units}', '{homes,residents,units}', true, false, false, $$
        SELECT range, 0, sum, NULL::int, NULL::float8
          FROM dp_range_sums($1, 'age', '{"[0,5)","[5,10)","[10,20)"}'::int8range[], $2, method => 'tree_consistent',
                             within => $3, period => $4)$$, NULL),
    ('named ranges', '{homes,residents,units}', '{homes,residents,units}', true, false, true, $$
        SELECT range, 0, sum, 0, NULL::float8
          FROM dp_range_sums($1, 'age', '{"[0,10)","[10,20)"}'::int8range[], $2, method => 'flat', name => $5, within => $3, period => $4)$$, NULL),
    ('rectangles', '{homes,residents,units}', '{homes,residents,units}', true, false, false, $$
        SELECT format('%s %s', row_range, column_range), 0, sum, 0, NULL::float8
          FROM dp_rectangle_sums($1, 'age', 'weight', '{"[0,10)","[0,10)","[10,20)","[10,20)"}'::int8range[],
                                 '{"[0,5)","[5,10)","[0,5)","[5,10)"}'::int8range[], $2, method => 'flat', within => $3, period => $4)$$, NULL),
    ('ranges of regions', '{homes,units}', '{homes,units}', true, false, false, $$
        SELECT format('%s %s', path, range), 0, sum, level - cardinality($3), NULL::float8
          FROM dp_region_range_sums($1, 'age', '{"[0,10)","[10,20)"}'::int8range[], $2, method => 'flat', within => $3, period => $4,
                                    budget_shares => (ARRAY['{0.2,0.3,0.5}', '{0.4,0.6}', '{1}'])[1 + cardinality($3)]::float8[])$$, NULL),
    ('a hierarchy', '{homes,residents,units}', '{homes,units}', true, false, false, $$
        SELECT format('%s %s', path, size), 0, groups, NULL::int, NULL::float8
          FROM dp_hierarchy_release($1, $2, max_size => '9', within => $3, period => $4)$$, NULL),
    ('a hierarchy by Hg', '{homes,residents,units}', '{homes,units}', true, true, false, $$
        SELECT path, size, groups, level - cardinality($3), NULL::float8
          FROM dp_hierarchy_release($1, $2, '{Hg}', max_size => '9', within => $3, period => $4)$$, NULL),
    ('a hierarchy from below', '{homes,residents,units}', '{homes,units}', true, true, false, $$
        SELECT path, size, groups, level - cardinality($3), NULL::float8
          FROM dp_hierarchy_release($1, $2, '{Hc}', 'bottom_up', max_size => '9', within => $3, period => $4)$$, NULL),
    ('a hierarchy that is kept', '{homes,residents,units}', '{homes,units}', true, false, true, $$
        SELECT format('%s %s', path, size), 0, groups, NULL::int, NULL::float8
          FROM dp_hierarchy_release($1, $2, '{Hc}', max_size => '9', name => $5, keep_measurements => true, within => $3, period => $4)$$, $$
        SELECT format('%s %s', path, kind), place, value, level, scale FROM dp.release_measurements WHERE dataset = $1 AND release = $2$$),
    ('a histogram', '{homes}', '{homes}', true, true, false, $$
        SELECT '{}', size, groups, 0, NULL::float8
          FROM dp_unnest(dp_coco_histogram((SELECT coco_agg(n)
                                              FROM (SELECT count(p.id) AS n FROM household AS h LEFT JOIN TABLE AS p ON p.id = h.id AND IN_PERIOD
                                                     WHERE IN_REGION GROUP BY h.id) AS sizes),
                                           $2, 9, 'Hc', dataset => $1, within => $3, period => $4))$$, NULL),
    ('bins', '{homes,residents}', '{homes,residents}', true, false, false, $$
        SELECT bin, 0, value, 0, NULL::float8
          FROM dp_unnest(dp_range_release(coalesce((SELECT bins_agg(age, 0, 20) FROM TABLE AS p LEFT JOIN household AS h USING (id)
                                                     WHERE IN_REGION AND IN_PERIOD), '[0,20){}'),
                                          $2, method => 'flat', dataset => $1, within => $3, period => $4))$$, NULL),
    ('a grid', '{homes,residents}', '{homes,residents}', true, false, false, $$
        SELECT format('%s %s', row_bin, column_bin), 0, value, 0, NULL::float8
          FROM dp_unnest(dp_grid_release(coalesce((SELECT grid_agg(age, weight, '[0,20)', '[0,10)')
                                                     FROM TABLE AS p LEFT JOIN household AS h USING (id)
                                                    WHERE IN_REGION AND IN_PERIOD), '[0,20)x[0,10){}'),
                                         $2, method => 'flat', dataset => $1, within => $3, period => $4))$$, NULL),
    ('a stream', '{homes,residents}', '{homes,residents}', true, false, false, $$
        SELECT NULL, 0, 0, NULL::int, NULL::float8
          FROM dp_stream_create($1, $5, 'arrived', date '2020-01-01', '1 day', 5, $2, within => $3, period => $4)$$, $$
        SELECT tick, 0, count, NULL::int, NULL::float8 FROM dp_stream_tick($1, $2)$$),
    ('a bound of amounts', '{homes,residents,units}', '{}', false, false, false, $$
        SELECT candidate, 0, above, NULL::int, NULL::float8 FROM dp_find_bound($1, 'max_amount', $2, amount => 'paid')$$, NULL),
    ('a bound of rows', '{units}', '{}', false, false, false, $$
        SELECT candidate, 0, above, NULL::int, NULL::float8 FROM dp_find_bound($1, 'max_rows_per_unit', $2)$$, NULL);

-- The sequences of a round: whether periods are opened, whether households move, and whether all parts have a place in common.
CREATE TABLE plan (n int, shape text, opens boolean, moves boolean, meets boolean);
INSERT INTO plan VALUES (1, 'homes', false, false, false), (2, 'homes', true, false, false), (3, 'homes', true, true, false),
                        (4, 'residents', true, false, false), (5, 'units', false, false, false), (6, 'units', false, false, true);
CREATE TABLE sequence (sequence int PRIMARY KEY, shape text, epsilon_budget float8, moves boolean, meets boolean);
-- Each step's epsilon is 2^16 and another power of 2, so that a sum tells which steps are in it.
CREATE TABLE step (sequence int, step int, kind text, epsilon float8, within text[], period text, PRIMARY KEY (sequence, step));
-- What comes before a step: a period is opened, or a household of the public table moves.
CREATE TABLE deed (sequence int, step int, period text, epsilon float8);
CREATE TABLE move (sequence int, step int, id int, state text);

CREATE FUNCTION pick(list anyarray) RETURNS anyelement LANGUAGE sql VOLATILE
AS 'SELECT list[1 + floor(random() * cardinality(list))::int]';
-- From one quarter to another, of which either may be NULL for no end.
CREATE FUNCTION period_of(shape text, lower int, upper int) RETURNS text LANGUAGE sql
RETURN (SELECT format('[%s,%s)', since(type, lower), since(type, upper)) FROM shape AS s WHERE s.shape = period_of.shape);

CREATE FUNCTION draw(rounds int, steps int, seed int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    p plan;
    q sequence;
    s step;
    k kind;
    powers int[];
    lower int;
    upper int;
BEGIN
    PERFORM setseed(seed / 10000.0);
    FOR round IN 0 .. rounds - 1 LOOP
        FOR p IN SELECT * FROM plan ORDER BY n LOOP
            q := (6 * round + p.n, p.shape, 2 ^ 16 * ceil(steps * pick('{0.6,0.7,0.9}'::float8[])), p.moves, p.meets);
            INSERT INTO sequence SELECT q.*;
            powers := ARRAY(SELECT e FROM generate_series(0, steps - 1) AS e ORDER BY random());
            FOR step IN 1 .. steps LOOP
                -- one of the kinds that were drawn least
                SELECT * INTO k FROM kind
                 WHERE q.shape = ANY (kind.shapes)
                 ORDER BY (SELECT count(*) FROM step JOIN sequence AS x USING (sequence) WHERE step.kind = kind.kind AND x.shape = q.shape),
                          random() LIMIT 1;
                s := (q.sequence, step, k.kind, 2 ^ 16 + 2 ^ powers[step], '{}', NULL);
                IF k.is_of_parts AND q.shape <> 'residents' AND random() < 0.7 THEN
                    s.within := (pick(CASE WHEN q.meets THEN '{"{NY}","{NY,a}"}'::text[]
                                           ELSE '{"{CA}","{NY}","{UT}","{CA,a}","{CA,b}","{NY,a}"}' END))::text[];
                END IF;
                IF q.shape = ANY (k.of_periods) AND random() < 0.7 THEN
                    lower := floor(random() * CASE WHEN q.meets THEN 3 ELSE 4 END);
                    upper := pick(ARRAY(SELECT generate_series(CASE WHEN q.meets THEN 3 ELSE lower + 1 END, 4)));
                    s.period := period_of(q.shape, nullif(lower, 0), pick(ARRAY[upper, NULL]));
                END IF;
                INSERT INTO step SELECT s.*;
            END LOOP;
            IF p.opens THEN
                lower := pick('{0,3}'::int[]);
                INSERT INTO deed VALUES
                    (q.sequence, 1 + floor(random() * 3), period_of(q.shape, 1, 3), q.epsilon_budget * pick('{0.4,0.7,1}'::float8[])),
                    (q.sequence, 4 + floor(random() * 5), period_of(q.shape, lower, lower + 1), q.epsilon_budget * pick('{0.5,1,NULL}'::float8[]));
            END IF;
            IF p.moves THEN
                INSERT INTO move VALUES (q.sequence, 2 + floor(random() * 4), 4, 'UT'), (q.sequence, 6 + floor(random() * 4), 1, 'NY');
            END IF;
        END LOOP;
    END LOOP;
END $$;

-- What was told of each neighbour's table, how each attempt ended, and where households were then.
CREATE TABLE told (sequence int, step int, k int, key text, place bigint, value float8, level int, scale float8);
CREATE TABLE outcome (sequence int, step int, k int, what text, code text);
CREATE TABLE lived (sequence int, step int, id int, path text[]);

CREATE FUNCTION release(s step, q sequence, of_k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    dataset text := format('%s %s', s.sequence, of_k);
    k kind;
    query text;
    said CONSTANT text := '(%s) AS r (key, place, value, level, scale)';
    changed bigint := 0;
BEGIN
    SELECT * INTO k FROM kind AS x WHERE x.kind = s.kind;
    SELECT replace(replace(replace(k.query, 'TABLE', quote_ident(q.shape || ' ' || of_k)),
                           'IN_REGION', '(ARRAY[h.state, h.county])[:cardinality($3)] = $3'),
                   'IN_PERIOD', format('($4 IS NULL OR $4 = ''[,)'' OR $4::%srange @> p.since)', type))
      INTO query FROM shape WHERE shape = q.shape;
    EXECUTE format('INSERT INTO told SELECT $6, $7, $8, r.* FROM ' || said, query)
      USING dataset, s.epsilon, s.within, s.period, 'step ' || s.step, s.sequence, s.step, of_k;
    IF k.is_named THEN
        EXECUTE format('SELECT count(*) FROM ' || said || ' FULL JOIN (SELECT * FROM told WHERE (sequence, step, k) = ($6, $7, $8)) AS t
                            ON (t.key, t.place, t.value) = (r.key::text, r.place, r.value) WHERE t.key IS NULL OR r.key IS NULL', query)
           INTO changed USING dataset, s.epsilon, s.within, s.period, 'step ' || s.step, s.sequence, s.step, of_k;
    END IF;
    IF k.told IS NOT NULL THEN
        DELETE FROM told WHERE (sequence, step, told.k) = (s.sequence, s.step, of_k);
        EXECUTE format('INSERT INTO told SELECT $3, $4, $5, r.* FROM ' || said, k.told)
          USING dataset, 'step ' || s.step, s.sequence, s.step, of_k;
    END IF;
    RETURN CASE WHEN changed = 0 THEN 'done' ELSE 'changed' END;
EXCEPTION WHEN configuration_limit_exceeded THEN
    RETURN SQLSTATE;
END $$;

CREATE PROCEDURE replay() LANGUAGE plpgsql AS $$
DECLARE
    q sequence;
    s step;
    d deed;
    of_k int;
    code text;
BEGIN
    FOR q IN SELECT * FROM sequence ORDER BY sequence LOOP
        UPDATE household AS h SET state = f.state FROM household_at_first AS f WHERE f.id = h.id AND f.state <> h.state;
        PERFORM dp_create_dataset(format('%s %s', q.sequence, n.k), format('%I', n.shape || ' ' || n.k)::regclass, x.key, x.hierarchy, x.groups,
                                  epsilon_budget => q.epsilon_budget, privacy_unit => x.unit, max_rows_per_unit => x.bound, period_column => 'since')
           FROM neighbour AS n JOIN shape AS x USING (shape) WHERE n.shape = q.shape;
        COMMIT;
        FOR s IN SELECT * FROM step WHERE sequence = q.sequence ORDER BY step LOOP
            UPDATE household AS h SET state = m.state FROM move AS m WHERE (m.sequence, m.step, m.id) = (s.sequence, s.step, h.id);
            INSERT INTO lived SELECT s.sequence, s.step, id, ARRAY[state, county] FROM household;
            COMMIT;
            FOR of_k IN SELECT k FROM neighbour WHERE shape = q.shape ORDER BY k LOOP
                FOR d IN SELECT * FROM deed WHERE (sequence, step) = (s.sequence, s.step) LOOP
                    BEGIN
                        code := 'done';
                        PERFORM dp_open_period(format('%s %s', q.sequence, of_k), d.period, d.epsilon);
                    EXCEPTION WHEN invalid_parameter_value THEN
                        code := SQLSTATE; -- more was charged there
                    END;
                    INSERT INTO outcome VALUES (s.sequence, s.step, of_k, 'opens ' || d.period, code);
                END LOOP;
                INSERT INTO outcome VALUES (s.sequence, s.step, of_k, 'releases', release(s, q, of_k));
            END LOOP;
            COMMIT;
        END LOOP;
    END LOOP;
END $$;
