-- Relations with private rows, and what belongs to them.

CREATE VIEW dp.check_invoker_views WITH (security_invoker) AS
    SELECT c.oid
      FROM pg_catalog.pg_class AS c
     CROSS JOIN LATERAL pg_catalog.pg_options_to_table(c.reloptions) AS o
     WHERE c.relkind = 'v'
       AND CASE o.option_name WHEN 'security_invoker' THEN o.option_value::boolean END;
COMMENT ON VIEW dp.check_invoker_views IS
    'inside of dp_check_privileges: views that read with the rights of their reader';

-- part: 1 the declared table, 2 its partitions and children, 3 what it was made from if it is a
-- materialized view; and 4 what reads from these: parents, views, materialized views. In PL/pgSQL,
-- which keeps the plan: many views need it.
CREATE FUNCTION dp.private_relations(entities oid, groups oid) RETURNS TABLE (relid oid, part int)
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE reach (relid, part) AS (
        VALUES ($1, 1)
        UNION
        SELECT next.relid, next.part
          FROM reach AS r CROSS JOIN LATERAL (
            SELECT i.inhrelid, greatest(r.part, 2)
              FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = r.relid AND r.part < 4
            UNION ALL
            SELECT i.inhparent, 4 FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = r.relid
            UNION ALL
            -- a view reads with the rights of its owner, who may have none, or of its reader
            SELECT v.oid, 4
              FROM pg_catalog.pg_depend AS e
              JOIN pg_catalog.pg_rewrite AS w
                   ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid
                   AND w.ev_type = '1'
              JOIN pg_catalog.pg_class AS v ON v.oid = w.ev_class AND v.oid <> r.relid
             WHERE e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = r.relid
               AND (v.relkind = 'm'
                    OR EXISTS (SELECT FROM dp.check_invoker_views AS i WHERE i.oid = v.oid)
                    OR pg_catalog.has_any_column_privilege(v.relowner, r.relid, 'SELECT'))
            UNION ALL
            SELECT e.refobjid, 3
              FROM pg_catalog.pg_rewrite AS w
              JOIN pg_catalog.pg_depend AS e
                   ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid
             WHERE w.ev_class = r.relid AND w.ev_type = '1' AND r.part < 4
               AND e.refclassid = 'pg_catalog.pg_class'::regclass
               AND e.refobjid <> r.relid AND e.refobjid IS DISTINCT FROM $2
        ) AS next (relid, part)
    )
    SELECT r.relid, min(r.part)
      FROM reach AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.relid
     GROUP BY r.relid;
END $$;
COMMENT ON FUNCTION dp.private_relations(oid, oid) IS
    'inside of dp_check_privileges: the relations with rows of a private table, or that read them';

CREATE VIEW dp.check_private WITH (security_invoker) AS
    SELECT d.dataset, p.relid, min(p.part) AS part
      FROM dp.check_datasets AS d
     CROSS JOIN LATERAL (SELECT * FROM dp.private_relations(d.entities, d.groups)
                         UNION ALL SELECT * FROM dp.private_relations(d.leaves, NULL)
                         UNION ALL
                         SELECT * FROM dp.private_relations(d.private_groups, d.groups)) AS p
     GROUP BY d.dataset, p.relid;
COMMENT ON VIEW dp.check_private IS
    'inside of dp_check_privileges: the relations with private rows, or that read them';

CREATE VIEW dp.check_column_types WITH (security_invoker) AS
    WITH RECURSIVE column_type (dataset, typid) AS (
        SELECT p.dataset, a.atttypid
          FROM dp.check_private AS p JOIN pg_catalog.pg_attribute AS a ON a.attrelid = p.relid
        UNION
        SELECT c.dataset, part
          FROM column_type AS c
          JOIN pg_catalog.pg_type AS t ON t.oid = c.typid
         CROSS JOIN LATERAL pg_catalog.unnest(ARRAY[t.typelem, t.typbasetype]) AS part
         WHERE part <> 0
    )
    TABLE column_type;
COMMENT ON VIEW dp.check_column_types IS
    'inside of dp_check_privileges: types of columns with private rows, and what these are made of';

-- Functions called by triggers, defaults, checks, indexes, rules and partition keys; sequences,
-- domains, foreign servers.
CREATE VIEW dp.check_used WITH (security_invoker) AS
    WITH private AS MATERIALIZED (
        TABLE dp.check_private
    ), belonging (dataset, classid, objid) AS (
        SELECT p.dataset, 'pg_catalog.pg_class'::regclass::oid, p.relid FROM private AS p
        UNION
        SELECT p.dataset, e.classid, e.objid
          FROM private AS p
          JOIN pg_catalog.pg_depend AS e
               ON e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = p.relid
        UNION
        SELECT t.dataset, e.classid, e.objid
          FROM dp.check_column_types AS t
          JOIN pg_catalog.pg_depend AS e
               ON e.refclassid = 'pg_catalog.pg_type'::regclass AND e.refobjid = t.typid
         WHERE e.classid = 'pg_catalog.pg_constraint'::regclass
    )
    TABLE belonging
    UNION
    SELECT b.dataset, e.refclassid, e.refobjid
      FROM belonging AS b
      JOIN pg_catalog.pg_depend AS e ON e.classid = b.classid AND e.objid = b.objid;
COMMENT ON VIEW dp.check_used IS
    'inside of dp_check_privileges: what sees private rows or counts them';

CREATE VIEW dp.check_referred WITH (security_invoker) AS
    WITH RECURSIVE referred (dataset, relid) AS (
        SELECT p.dataset, k.confrelid
          FROM dp.check_private AS p
          JOIN pg_catalog.pg_constraint AS k ON k.conrelid = p.relid AND k.contype = 'f'
         WHERE p.part < 4 AND k.conrelid <> k.confrelid
        UNION
        SELECT r.dataset, i.inhparent
          FROM referred AS r JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = r.relid
    )
    TABLE referred;
COMMENT ON VIEW dp.check_referred IS
    'inside of dp_check_privileges: what foreign keys of private tables refer to, and its parents';


