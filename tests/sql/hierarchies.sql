-- Random hierarchies of 1 to 5 levels with empty regions and empty groups: whatever the noise, every
-- consistency method but "none" gives integers >= 0, the public totals, and children that sum to
-- parents. (The same in Rust, on 1,000 of them: src/hierarchy/properties.rs.)
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE outcome (depth int, consistency text, violations bigint, rows bigint);
DO $$
DECLARE
    depth int;
    method text;
    estimator text;
    columns text[];
BEGIN
    FOR trial IN 1..140 LOOP
        depth := trial % 5;
        method := (ARRAY['matching', 'matching_unweighted', 'bottom_up', 'pgsr', 'topdown', 'cumulative', 'chain'])[1 + trial % 7];
        estimator := CASE WHEN method IN ('cumulative', 'chain') THEN (ARRAY['Hc', 'Hc_l2', 'auto'])[1 + trial / 7 % 3]
                          ELSE (ARRAY['H', 'Hc', 'Hc_l2', 'Hg', 'cut', 'cut:3', 'auto'])[1 + trial / 7 % 7] END;
        columns := (ARRAY['a', 'b', 'c', 'd'])[1:depth];
        CREATE TABLE grp AS SELECT i AS id, floor(random() * 3)::int AS a, floor(random() * 3)::int AS b,
                                   floor(random() * 3)::int AS c, floor(random() * 3)::int AS d
                              FROM generate_series(1, (random() * 60)::int) AS i;
        INSERT INTO grp VALUES (NULL, 7, 7, 7, 7);
        CREATE TABLE entity AS SELECT id FROM grp, generate_series(1, (random() * random() * 30)::int) WHERE random() < 0.8;
        PERFORM dp_create_dataset('random', 'entity', '{id}', columns, 'grp', epsilon_budget => 10);
        COMMIT; -- a dataset can be charged once it is committed
        CREATE TABLE released AS SELECT * FROM dp_hierarchy_release('random', 0.3, ARRAY[estimator], method, 20);
        INSERT INTO outcome SELECT depth, method, (
            -- groups per region against the public table, at every level
            SELECT count(*) FROM (
                SELECT path, sum(groups) AS groups FROM released GROUP BY path) AS r
              FULL JOIN (
                SELECT (ARRAY[a, b, c, d])[1:level]::text[] AS path, count(*) AS groups
                  FROM grp, generate_series(0, depth) AS level WHERE id IS NOT NULL GROUP BY 1) AS g USING (path)
             WHERE coalesce(r.groups, 0) <> coalesce(g.groups, 0)
               AND (path = '{}' OR method NOT IN ('pgsr', 'topdown', 'chain')) -- which keep the root's total only
        ) + (
            -- every parent against the sum of its children, for every size
            SELECT count(*) FROM (SELECT path, size, groups FROM released WHERE level < depth) AS parent
              FULL JOIN (SELECT path[1:level - 1] AS path, size, sum(groups) AS groups
                           FROM released WHERE level > 0 GROUP BY 1, 2) AS children USING (path, size)
             WHERE parent.groups IS DISTINCT FROM children.groups
        ) + (
            SELECT count(*) FROM released WHERE groups <= 0 OR size < 0 OR size > 20 OR level <> cardinality(path)
        ), (SELECT count(*) FROM released);
        PERFORM dp_drop_dataset('random');
        DROP TABLE grp, entity, released;
    END LOOP;
END $$;
SELECT consistency, count(*) AS hierarchies, count(DISTINCT depth) AS depths, sum(violations) AS violations, sum(rows) > 0 AS some_rows
  FROM outcome GROUP BY consistency ORDER BY consistency;
