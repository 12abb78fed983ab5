-- What the sequences of neighbours.sql have told of each neighbour, and what the ledger says: see `neighbours`.

-- All charges, those of steps and those that open periods numbered by themselves.
CREATE TABLE ledger AS
SELECT *, row_number() OVER (PARTITION BY dataset, function = 'dp_open_period' ORDER BY id) AS nth FROM dp.ledger;
-- The entry of each step.
CREATE TABLE entry AS
SELECT o.sequence, o.step, o.k, l.epsilon::float8, l.within, l.period, l.parameters
  FROM (SELECT *, row_number() OVER (PARTITION BY sequence, k ORDER BY step) AS nth
          FROM outcome WHERE what = 'releases' AND code = 'done') AS o
  JOIN ledger AS l ON l.function <> 'dp_open_period' AND (l.dataset, l.nth) = (format('%s %s', o.sequence, o.k), o.nth);
-- All that has to be the same whatever is in the table.
CREATE TABLE account AS
SELECT q.sequence, n.k, b.epsilon_spent::float8, jsonb_build_object(
           'budget', to_jsonb(b), 'entries', l.entries, 'outcomes', o.outcomes,
           'parts', (SELECT coalesce(jsonb_agg(to_jsonb(p)), '[]') FROM dp_budget_cells(l.dataset) AS p),
           'periods', (SELECT coalesce(jsonb_agg(to_jsonb(p)), '[]') FROM dp_budget_periods(l.dataset) AS p)) AS account
  FROM sequence AS q JOIN neighbour AS n USING (shape)
  JOIN (SELECT dataset, jsonb_agg(jsonb_build_array(function, epsilon, delta, rho, within, period, parameters #- '{cells,tables}') ORDER BY id) AS entries
          FROM ledger GROUP BY dataset) AS l ON l.dataset = format('%s %s', q.sequence, n.k)
  JOIN (SELECT sequence, k, jsonb_agg(jsonb_build_array(step, what, code) ORDER BY step, what) AS outcomes
          FROM outcome GROUP BY sequence, k) AS o USING (sequence, k),
       dp_budget(l.dataset) AS b;

-- The epsilon of a level's noise for one row or unit, by the mechanism that was charged; 0 where a level is not measured.
CREATE FUNCTION of_level(parameters jsonb, level int) RETURNS float8 LANGUAGE sql IMMUTABLE
RETURN (SELECT CASE jsonb_typeof(m) WHEN 'null' THEN 0 ELSE (m ->> 'epsilon')::float8 / (m ->> 'sensitivity')::float8 END
          FROM (SELECT CASE jsonb_typeof(l) WHEN 'array' THEN l -> 0 ELSE l END
                  FROM (SELECT coalesce(parameters -> 'measurements', parameters -> 'levels') -> level) AS l (l)) AS m (m));

-- The loss of each step to each neighbour.
CREATE TABLE loss AS
WITH difference AS (
    SELECT sequence, step, k, key, place, sum(value) AS value, max(level) AS level, max(scale) AS scale
      FROM (SELECT * FROM told WHERE k > 0
            UNION ALL
            SELECT t.sequence, t.step, n.k, t.key, t.place, -t.value, t.level, t.scale
              FROM told AS t JOIN sequence AS q USING (sequence) JOIN neighbour AS n USING (shape) WHERE t.k = 0 AND n.k > 0) AS both_sides
     GROUP BY sequence, step, k, key, place),
distance AS (
    SELECT sequence, step, k, coalesce(1 / scale, of_level(e.parameters, level)) AS weight, s.epsilon,
           CASE WHEN is_histogram THEN abs(sum(value) OVER sizes) * coalesce(lead(place) OVER sizes - place, 1) ELSE abs(value) END AS distance
      FROM difference JOIN entry AS e USING (sequence, step, k) JOIN step AS s USING (sequence, step) JOIN kind USING (kind)
    WINDOW sizes AS (PARTITION BY sequence, step, k, key ORDER BY place))
SELECT sequence, step, k,
       coalesce(sum(distance * weight), 0) + epsilon * coalesce(bool_or(distance > 0) FILTER (WHERE weight IS NULL), false)::int AS loss
  FROM distance GROUP BY sequence, step, k, epsilon;

-- What the ledger lets each step cost each neighbour: epsilon for each row that it lacks or has more and that was of the part then, or, of
-- units, wherever their rows are.
CREATE FUNCTION is_of_period(quarter int, period text, type text) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN period IS NULL
    OR coalesce(CASE type WHEN 'date' THEN period::daterange @> since(type, quarter)::date ELSE period::int8range @> quarter::int8 END, false);
CREATE TABLE bound AS
SELECT sequence, e.step, k, shape, n.what, n.losses, e.epsilon, coalesce(l.loss, 0) AS loss,
       e.epsilon * CASE WHEN s.unit IS NULL THEN r.in_part ELSE n.losses END AS bound, r.are_listed
  FROM entry AS e JOIN sequence USING (sequence) JOIN neighbour AS n USING (shape, k) JOIN shape AS s USING (shape)
  LEFT JOIN loss AS l USING (sequence, step, k),
       LATERAL (SELECT bool_and(h.id IS NOT NULL) AS are_listed,
                       count(*) FILTER (WHERE coalesce(h.path[:cardinality(e.within)], '{}') = e.within AND is_of_period(quarter, e.period, s.type))
                           AS in_part
                  FROM entity AS r LEFT JOIN lived AS h ON (h.sequence, h.step, h.id) = (e.sequence, e.step, r.id)
                 WHERE r.n = ANY (n.removed || n.added)) AS r
 WHERE k > 0;

-- What the ledger says was spent in all, in each part and in each opened period, and the greatest loss to a row or unit that lies there. Regions
-- are those of the table of groups at the last charge to one, by which dp_budget_cells tells them.
CREATE TABLE figure AS
WITH spent AS (
    SELECT sequence, 'in all' AS what, '{}'::text[] AS within, NULL AS period, epsilon_spent, epsilon_budget
      FROM account JOIN sequence USING (sequence) WHERE k = 0
    UNION ALL
    SELECT sequence, 'in a part', p.within, p.period, p.epsilon_spent, epsilon_budget
      FROM account JOIN sequence USING (sequence),
           jsonb_to_recordset(account -> 'parts') AS p (within text[], period text, epsilon_spent float8) WHERE k = 0
    UNION ALL
    SELECT sequence, 'in an opened period', '{}', p.period, p.epsilon_spent, p.epsilon_budget
      FROM account, jsonb_to_recordset(account -> 'periods') AS p (period text, epsilon_spent float8, epsilon_budget float8) WHERE k = 0),
total AS (SELECT sequence, k, losses, sum(loss) AS loss FROM bound GROUP BY sequence, k, losses),
place AS (
    SELECT q.sequence, n.k, r.quarter, h.path
      FROM sequence AS q JOIN neighbour AS n USING (shape) JOIN entity AS r ON r.n = ANY (n.removed || n.added)
      LEFT JOIN (SELECT sequence, max(step) AS step FROM entry WHERE within <> '{}' GROUP BY sequence) AS l USING (sequence)
      LEFT JOIN lived AS h ON (h.sequence, h.step, h.id) = (l.sequence, l.step, r.id))
SELECT s.*, shape, moves, meets, coalesce(f.loss, 0) AS loss
  FROM spent AS s JOIN sequence USING (sequence) JOIN shape USING (shape),
       LATERAL (SELECT max(t.loss / losses) AS loss
                  FROM total AS t JOIN place AS p USING (sequence, k)
                 WHERE t.sequence = s.sequence
                   AND CASE WHEN s.what = 'in all' THEN true
                            ELSE losses = 1 AND coalesce(p.path[:cardinality(s.within)], '{}') = s.within AND is_of_period(p.quarter, s.period, type)
                       END) AS f;
