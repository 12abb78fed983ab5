-- All in one form. columns: those that it is about, as a list in a GRANT; further: what has to
-- follow the REVOKE.

CREATE VIEW dp.check_relation_objects WITH (security_invoker) AS
    SELECT r.dataset, o.what, c.oid AS objid, o.columns, o.acl, r.privileges,
           c.relowner AS owner, o.for_owner, '' AS further
      FROM dp.check_relations AS r
      JOIN pg_catalog.pg_class AS c ON c.oid = r.relid
     CROSS JOIN LATERAL (
        SELECT r.what, '', c.relacl, r.for_owner
        UNION ALL
        SELECT 'a column of ' || r.what, pg_catalog.format(' (%I)', a.attname), a.attacl, false
          FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND NOT a.attisdropped
      ) AS o (what, columns, acl, for_owner)
    UNION ALL
    -- as a privilege on a table covers its columns, it has to be granted anew on the other ones.
    -- The server does not need reltuples, relpages, some clients do (pg_dump, JDBC's getIndexInfo).
    SELECT w.dataset, w.what, c.oid, o.columns, o.acl, ARRAY['SELECT'], c.relowner, false, o.further
      FROM dp.check_columns AS w
      JOIN pg_catalog.pg_class AS c ON c.oid = w.relid
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
     CROSS JOIN LATERAL (
        SELECT '', c.relacl, pg_catalog.replace(pg_catalog.format(
                   '; GRANT SELECT (%s) ON TABLE %I.%I TO ',
                   pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ' ORDER BY a.attnum),
                   n.nspname, c.relname), '%', '%%') || '%s'
          FROM pg_catalog.pg_attribute AS a
         WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname !~ w.columns
        UNION ALL
        SELECT pg_catalog.format(' (%I)', a.attname), a.attacl, ''
          FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname ~ w.columns
      ) AS o (columns, acl, further);
COMMENT ON VIEW dp.check_relation_objects IS
    'inside of dp_check_privileges: relations and columns, with their owners and grants';

CREATE VIEW dp.check_function_objects WITH (security_invoker) AS
    SELECT f.dataset, f.what, p.oid AS objid,
           coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)) AS acl, p.proowner AS owner
      FROM (SELECT NULL::text, s.what, s.proc FROM dp.check_server_functions AS s
            UNION ALL
            SELECT NULL, e.what, e.proc FROM dp.check_extension_functions AS e
            UNION ALL
            SELECT d.dataset, d.what, d.proc FROM dp.check_definers AS d) AS f (dataset, what, proc)
      JOIN pg_catalog.pg_proc AS p ON p.oid = f.proc;
COMMENT ON VIEW dp.check_function_objects IS
    'inside of dp_check_privileges: functions that tell something, with their owners and grants';

CREATE VIEW dp.check_used_objects WITH (security_invoker) AS
    WITH used AS MATERIALIZED (
        TABLE dp.check_used
    )
    -- whose owner can replace it by one that passes the rows on
    SELECT u.dataset, 'a function that runs on rows of the private table' AS what,
           u.classid, u.objid, NULL::aclitem[] AS acl, NULL::text[] AS privileges,
           p.proowner AS owner
      FROM used AS u
      JOIN pg_catalog.pg_proc AS p ON u.classid = 'pg_catalog.pg_proc'::regclass AND p.oid = u.objid
    UNION ALL -- with which one can make a foreign table of one's own
    SELECT u.dataset, 'the foreign server of the private table', u.classid, u.objid,
           s.srvacl, ARRAY['USAGE'], s.srvowner
      FROM used AS u
      JOIN pg_catalog.pg_foreign_server AS s
           ON u.classid = 'pg_catalog.pg_foreign_server'::regclass AND s.oid = u.objid
    UNION ALL
    -- whose owner can add a check, which the server runs on all values of the type, in every table
    SELECT c.dataset, 'a domain of the private table', 'pg_catalog.pg_type'::regclass, t.oid,
           NULL, NULL, t.typowner
      FROM dp.check_column_types AS c
      JOIN pg_catalog.pg_type AS t ON t.oid = c.typid AND t.typtype = 'd';
COMMENT ON VIEW dp.check_used_objects IS
    'inside of dp_check_privileges: what sees private rows, with its owner and grants';

CREATE VIEW dp.check_schema_objects WITH (security_invoker) AS
    -- a query is planned, and debug_print_plan prints that with estimates from the planner's
    -- statistics, before the privileges on its tables are checked; those on a schema come first
    SELECT DISTINCT p.dataset,
           'the schema of the private table: plans with estimates can be printed' AS what,
           n.oid AS objid, n.nspacl AS acl, ARRAY['USAGE'] AS privileges, n.nspowner AS owner,
           true AS for_owner,
           CASE WHEN n.oid = x.extnamespace -- without USAGE nobody could call pg_dp
                THEN '-- move the private tables to another schema (ALTER TABLE ... SET SCHEMA, then'
                     ' dp_confirm_dataset): pg_dp is in this one'
                WHEN n.nspname = 'public'
                THEN ' -- or have the table in another schema, which is better'
                ELSE ''
           END AS further
      FROM dp.check_private AS p
      JOIN pg_catalog.pg_class AS c ON c.oid = p.relid AND p.part < 4
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_extension AS x ON x.extname = 'pg_dp'
    UNION ALL
    SELECT l.dataset, 'a schema where functions of pg_dp are looked up', n.oid, n.nspacl,
           ARRAY['CREATE'], n.nspowner, false, ''
      FROM dp.check_lookups AS l JOIN pg_catalog.pg_namespace AS n ON n.oid = l.schema;
COMMENT ON VIEW dp.check_schema_objects IS
    'inside of dp_check_privileges: schemas, with their owners and grants';

CREATE VIEW dp.check_database_objects WITH (security_invoker) AS
    SELECT 'the database: functions of pg_dp are also looked up in a schema named like the caller'
               AS what,
           d.oid AS objid, d.datacl AS acl, ARRAY['CREATE'] AS privileges, d.datdba AS owner,
           false AS for_owner, '' AS further
      FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()
    UNION ALL
    SELECT 'the database, who may VACUUM VERBOSE, which counts rows', d.oid, NULL, NULL,
           d.datdba, true, ''
      FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()
    UNION ALL
    SELECT 'another database, where the counters of this one can be read', d.oid,
           coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba)), ARRAY['CONNECT'], d.datdba,
           false, ' -- or revoke there, too, EXECUTE on the functions that count'
      FROM pg_catalog.pg_database AS d
     WHERE d.datname <> pg_catalog.current_database() AND d.datallowconn;
COMMENT ON VIEW dp.check_database_objects IS
    'inside of dp_check_privileges: databases, with their owners and grants';

CREATE VIEW dp.check_objects WITH (security_invoker) AS
    SELECT o.*, i.identity,
           CASE i.type
               WHEN 'sequence' THEN 'SEQUENCE ' WHEN 'function' THEN 'FUNCTION '
               WHEN 'procedure' THEN 'PROCEDURE ' WHEN 'type' THEN 'DOMAIN '
               WHEN 'server' THEN 'FOREIGN SERVER ' WHEN 'database' THEN 'DATABASE '
               WHEN 'schema' THEN 'SCHEMA ' WHEN 'parameter ACL' THEN 'PARAMETER ' ELSE 'TABLE '
           END || i.identity AS target
      FROM (
        SELECT r.dataset, r.what, 'pg_catalog.pg_class'::regclass::oid, r.objid, r.columns, r.acl,
               r.privileges, r.owner, r.for_owner, r.further
          FROM dp.check_relation_objects AS r
        UNION ALL
        SELECT f.dataset, f.what, 'pg_catalog.pg_proc'::regclass, f.objid, '', f.acl,
               ARRAY['EXECUTE'], f.owner, false, ''
          FROM dp.check_function_objects AS f
        UNION ALL
        SELECT u.dataset, u.what, u.classid, u.objid, '', u.acl, u.privileges, u.owner, true, ''
          FROM dp.check_used_objects AS u
        UNION ALL
        SELECT s.dataset, s.what, 'pg_catalog.pg_namespace'::regclass, s.objid, '', s.acl,
               s.privileges, s.owner, s.for_owner, s.further
          FROM dp.check_schema_objects AS s
        UNION ALL
        SELECT NULL, d.what, 'pg_catalog.pg_database'::regclass, d.objid, '', d.acl,
               d.privileges, d.owner, d.for_owner, d.further
          FROM dp.check_database_objects AS d
        UNION ALL -- such as what is logged and which libraries are loaded
        SELECT NULL, 'a setting that is reserved to superusers',
               'pg_catalog.pg_parameter_acl'::regclass, s.oid, '', s.paracl, NULL, 10, false, ''
          FROM pg_catalog.pg_parameter_acl AS s
      ) AS o (dataset, what, classid, objid, columns, acl, privileges, owner, for_owner, further)
     CROSS JOIN LATERAL pg_catalog.pg_identify_object(o.classid, o.objid, 0) AS i;
COMMENT ON VIEW dp.check_objects IS
    'inside of dp_check_privileges: all that tells something, with its owner, grants and names';


