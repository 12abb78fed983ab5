-- Ways around pg_dp -----------------------------------------------------------------------------

-- Nearly everything that leads to private rows has an owner and a list of grants. So all of it is
-- brought into one form (thing), and two branches at the end report who owns it or was granted it.
--
-- Listed are functions rather than the views over them (pg_stat_all_tables, pg_locks, ...): whoever
-- queries a view needs the privilege on the functions in it. Not listed is what opens nothing:
-- BYPASSRLS (datasets have no row-level security), pg_signal_backend, pg_checkpoint, and the functions
-- of pageinspect, pgrowlocks and pg_prewarm, which check for themselves whom they serve. Nor what nothing
-- closes: the numbers of transactions and of new objects, which show in every row and object that a role makes.
--
-- Every remedy can be executed as it is; where no statement helps it is a comment. What was revoked
-- from PUBLIC can be granted to the roles that need it, such as pg_monitor.
CREATE FUNCTION @extschema@.dp_check_privileges(role regrole)
    RETURNS TABLE (dataset text, hole text, object text, remedy text)
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    analyst CONSTANT oid := role;
    version CONSTANT int := pg_catalog.current_setting('server_version_num')::int;
    relations CONSTANT oid := 'pg_catalog.pg_class'::regclass;
    rules CONSTANT oid := 'pg_catalog.pg_rewrite'::regclass;
    constraints CONSTANT oid := 'pg_catalog.pg_constraint'::regclass;
    types CONSTANT oid := 'pg_catalog.pg_type'::regclass;
    functions CONSTANT oid := 'pg_catalog.pg_proc'::regclass;
    extensions CONSTANT oid := 'pg_catalog.pg_extension'::regclass;
    servers CONSTANT oid := 'pg_catalog.pg_foreign_server'::regclass;
    databases CONSTANT oid := 'pg_catalog.pg_database'::regclass;
    schemas CONSTANT oid := 'pg_catalog.pg_namespace'::regclass;
    settings CONSTANT oid := 'pg_catalog.pg_parameter_acl'::regclass;
BEGIN
    IF analyst IS NULL THEN
        RAISE 'role must not be NULL' USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the role to check.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.oid = analyst) THEN
        RAISE 'role with OID % does not exist', analyst
            USING ERRCODE = 'undefined_object', HINT = 'The view pg_roles lists the roles.';
    END IF;

    -- To a superuser everything is open; a list of it all would only hide that.
    IF (SELECT r.rolsuper FROM pg_catalog.pg_roles AS r WHERE r.oid = analyst) THEN
        RETURN QUERY
            SELECT d.name, 'superuser', analyst::regrole::text,
                   pg_catalog.format('ALTER ROLE %s NOSUPERUSER', analyst::regrole)
              FROM dp.datasets AS d WHERE pg_catalog.pg_has_role(d.owner::oid, 'USAGE') ORDER BY d.name;
        RETURN;
    END IF;

    RETURN QUERY
    WITH RECURSIVE owned AS MATERIALIZED (
        SELECT d.name, d.owner::oid AS owner, d.entities::oid AS entities, d.groups::oid AS groups
          FROM dp.datasets AS d WHERE pg_catalog.pg_has_role(d.owner::oid, 'USAGE')
    ), checked AS (
        SELECT * FROM owned AS d WHERE d.owner <> analyst
    ),

    -- Whose rights the role has or can take, and the statements that end that. MEMBER, not USAGE: who does
    -- not inherit can SET ROLE, and who only administers a membership can grant it to itself in full.
    reachable AS (
        SELECT r.oid, r.oid::regrole::text AS name, r.rolsuper, r.rolcreaterole, r.rolreplication,
               CASE WHEN r.oid <> analyst THEN coalesce(
                   (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.format(
                               'REVOKE %s FROM %s%s', m.roleid::regrole, analyst::regrole,
                               CASE WHEN version >= 160000 THEN ' GRANTED BY ' || m.grantor::regrole END), '; ')
                      FROM pg_catalog.pg_auth_members AS m
                     WHERE m.member = analyst AND pg_catalog.pg_has_role(m.roleid, r.oid, 'MEMBER')),
                   '-- the owner of the database is a member: give the database another owner') -- pg_database_owner
               END AS leave
          FROM pg_catalog.pg_roles AS r WHERE pg_catalog.pg_has_role(analyst, r.oid, 'MEMBER')
    ), predefined (name, power) AS (VALUES
        ('pg_read_all_data', 'reads every table'),
        ('pg_write_all_data', 'writes every table, also the ledger'),
        ('pg_read_all_stats', 'sees the statements of other sessions'),
        ('pg_monitor', 'sees the sizes of temporary files'),
        ('pg_stat_scan_tables', 'may use extensions that count rows'),
        ('pg_read_server_files', 'reads the files of the server'),
        ('pg_write_server_files', 'writes the files of the server'),
        ('pg_execute_server_program', 'runs programs as the server'),
        ('pg_maintain', 'may VACUUM VERBOSE, which counts rows')
    ), holder AS ( -- what superusers and predefined roles hold is reported as membership in them
        SELECT 0::oid AS oid, 'PUBLIC' AS name
        UNION ALL
        SELECT r.oid, r.name FROM reachable AS r
         WHERE NOT r.rolsuper AND r.name NOT IN (SELECT p.name FROM predefined AS p)
    ),

    own_function (oid, name) AS (
        SELECT p.oid, p.proname
          FROM pg_catalog.pg_extension AS x
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = extensions AND e.refobjid = x.oid AND e.deptype = 'e'
          JOIN pg_catalog.pg_proc AS p ON e.classid = functions AND p.oid = e.objid
         WHERE x.extname = 'pg_dp'
    ),

    -- Schemas through which calls of pg_dp's functions go: a function of the same name whose types match better
    -- takes them. The default search_path begins with a schema named like the role that calls.
    passed (dataset, owner, schema, heir) AS (
        SELECT d.name, d.owner, n.oid, x.extowner
          FROM checked AS d JOIN pg_catalog.pg_extension AS x ON x.extname = 'pg_dp'
          JOIN pg_catalog.pg_namespace AS n
               ON n.oid = x.extnamespace OR n.nspname IN ('dp', pg_catalog.pg_get_userbyid(d.owner))
    ),

    -- Relations with private rows: 1 the declared table, 2 its partitions and children, 3 what it was made
    -- from if it is a materialized view; and 4 what reads from these: parents, views, materialized views.
    invoker_view AS (
        SELECT c.oid FROM pg_catalog.pg_class AS c CROSS JOIN LATERAL pg_catalog.pg_options_to_table(c.reloptions) AS o
         WHERE c.relkind = 'v' AND CASE o.option_name WHEN 'security_invoker' THEN o.option_value::boolean END
    ), reach (dataset, relid, part) AS (
        SELECT d.name, d.entities, 1 FROM checked AS d
        UNION
        SELECT r.dataset, next.relid, next.part
          FROM reach AS r JOIN checked AS d ON d.name = r.dataset CROSS JOIN LATERAL (
            SELECT i.inhrelid AS relid, greatest(r.part, 2) AS part
              FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = r.relid AND r.part < 4
            UNION ALL
            SELECT i.inhparent, 4 FROM pg_catalog.pg_inherits AS i WHERE i.inhrelid = r.relid
            UNION ALL -- a view reads with the rights of its owner, who may have none, or of its reader
            SELECT v.oid, 4
              FROM pg_catalog.pg_depend AS e
              JOIN pg_catalog.pg_rewrite AS w ON e.classid = rules AND e.objid = w.oid AND w.ev_type = '1'
              JOIN pg_catalog.pg_class AS v ON v.oid = w.ev_class AND v.oid <> r.relid
             WHERE e.refclassid = relations AND e.refobjid = r.relid
               AND (v.relkind = 'm' OR v.oid IN (SELECT i.oid FROM invoker_view AS i)
                    OR pg_catalog.has_any_column_privilege(v.relowner, r.relid, 'SELECT'))
            UNION ALL
            SELECT e.refobjid, 3
              FROM pg_catalog.pg_rewrite AS w JOIN pg_catalog.pg_depend AS e ON e.classid = rules AND e.objid = w.oid
             WHERE w.ev_class = r.relid AND w.ev_type = '1' AND r.part < 4
               AND e.refclassid = relations AND e.refobjid <> r.relid AND e.refobjid IS DISTINCT FROM d.groups
        ) AS next
    ), private AS (
        SELECT r.dataset, r.relid, min(r.part) AS part
          FROM reach AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.relid GROUP BY r.dataset, r.relid
    ),

    -- What sees the rows or counts them: functions called by triggers, defaults, checks, indexes, rules and
    -- partition keys, sequences, domains, foreign servers.
    column_type (dataset, typid) AS (
        SELECT p.dataset, a.atttypid FROM private AS p JOIN pg_catalog.pg_attribute AS a ON a.attrelid = p.relid
        UNION
        SELECT c.dataset, part FROM column_type AS c JOIN pg_catalog.pg_type AS t ON t.oid = c.typid
         CROSS JOIN LATERAL pg_catalog.unnest(ARRAY[t.typelem, t.typbasetype]) AS part WHERE part <> 0
    ), belonging (dataset, classid, objid) AS (
        SELECT p.dataset, relations, p.relid FROM private AS p
        UNION
        SELECT p.dataset, e.classid, e.objid
          FROM private AS p JOIN pg_catalog.pg_depend AS e ON e.refclassid = relations AND e.refobjid = p.relid
        UNION
        SELECT t.dataset, e.classid, e.objid
          FROM column_type AS t JOIN pg_catalog.pg_depend AS e ON e.refclassid = types AND e.refobjid = t.typid
         WHERE e.classid = constraints
    ), used (dataset, classid, objid) AS (
        TABLE belonging
        UNION
        SELECT b.dataset, e.refclassid, e.refobjid
          FROM belonging AS b JOIN pg_catalog.pg_depend AS e ON e.classid = b.classid AND e.objid = b.objid
    ),

    -- What foreign keys of the private table refer to, and what reads or changes these tables as its children.
    referred (dataset, relid) AS (
        SELECT p.dataset, k.confrelid
          FROM private AS p JOIN pg_catalog.pg_constraint AS k ON k.conrelid = p.relid AND k.contype = 'f'
         WHERE p.part < 4 AND k.conrelid <> k.confrelid
        UNION
        SELECT r.dataset, i.inhparent FROM referred AS r JOIN pg_catalog.pg_inherits AS i ON i.inhrelid = r.relid
    ),

    -- Relations that tell something, to their owner or to whoever has one of the privileges; NULL for any.
    relation (dataset, what, relid, privileges, for_owner) AS (
        -- Besides SELECT: INSERT and UPDATE meet constraints, REFERENCES makes one, UPDATE and DELETE count
        -- rows, a TRIGGER sees them, MAINTAIN allows VACUUM VERBOSE. Owning a view opens nothing.
        SELECT p.dataset, (ARRAY['the private table', 'a part of the private table',
                                 'a source of the private table', 'a relation that reads the private table'])[p.part],
               p.relid, NULL::text[], c.relkind <> 'v'
          FROM private AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.relid
         WHERE c.oid NOT IN (SELECT i.oid FROM invoker_view AS i)
        UNION ALL -- a sequence that a column owns has the owner of the table
        SELECT u.dataset, 'a sequence of the private table', c.oid, NULL,
               NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS e WHERE e.classid = relations AND e.objid = c.oid
                              AND e.refclassid = relations AND e.deptype IN ('a', 'i'))
          FROM used AS u JOIN pg_catalog.pg_class AS c ON u.classid = relations AND c.oid = u.objid AND c.relkind = 'S'
        UNION ALL -- errors of a foreign key tell whether a key occurs
        SELECT p.dataset, 'a table whose foreign key refers to the private table', k.conrelid,
               ARRAY['INSERT', 'UPDATE'], true
          FROM private AS p JOIN pg_catalog.pg_constraint AS k ON k.confrelid = p.relid AND k.contype = 'f'
         WHERE p.part < 4 AND k.conrelid <> k.confrelid
        UNION ALL
        SELECT r.dataset, 'a table that the private table refers to', r.relid, ARRAY['UPDATE', 'DELETE'], true
          FROM referred AS r
        UNION ALL -- see withheld; a view reads it with the rights of its owner
        SELECT r.dataset, 'a view of xmax of a table that the private table refers to', w.ev_class, ARRAY['SELECT'], false
          FROM referred AS r
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = relations AND e.refobjid = r.relid
          JOIN pg_catalog.pg_attribute AS a ON a.attrelid = r.relid AND a.attnum = e.refobjsubid AND a.attname = 'xmax'
          JOIN pg_catalog.pg_rewrite AS w ON e.classid = rules AND e.objid = w.oid AND w.ev_type = '1'
        UNION ALL -- a rule acts with the rights of the owner of its relation
        SELECT p.dataset, 'a relation with a rule that uses the private table', w.ev_class,
               ARRAY[CASE w.ev_type WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END], true
          FROM private AS p
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = relations AND e.refobjid = p.relid
          JOIN pg_catalog.pg_rewrite AS w ON e.classid = rules AND e.objid = w.oid AND w.ev_type <> '1'
         WHERE w.ev_class <> p.relid
        UNION ALL
        SELECT NULL, 'the ledger', c.oid, ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER'], true
          FROM pg_catalog.pg_class AS c WHERE c.relnamespace = 'dp'::regnamespace AND c.relkind = 'r'
        UNION ALL -- values and histograms; the view pg_stats shows them to those who may read the column
        SELECT NULL, 'the statistics of the planner', s.relid, ARRAY['SELECT'], false
          FROM (VALUES ('pg_catalog.pg_statistic'::regclass), ('pg_catalog.pg_statistic_ext_data')) AS s (relid)
        UNION ALL -- these show them to the owner of the table, unless the cluster is of before 15.7 or 16.3
        SELECT p.dataset, 'extended statistics that everybody sees here (CVE-2024-4317)', v.relid,
               ARRAY['SELECT'], false
          FROM private AS p JOIN pg_catalog.pg_statistic_ext AS x ON x.stxrelid = p.relid
         CROSS JOIN (VALUES ('pg_catalog.pg_stats_ext'::regclass), ('pg_catalog.pg_stats_ext_exprs')) AS v (relid)
         WHERE pg_catalog.pg_get_viewdef(v.relid) NOT LIKE '%pg_has_role(c.relowner%'
    ),

    -- Columns that tell something, of relations that otherwise may be read.
    withheld (dataset, what, relid, columns) AS (
        -- the last two move when autovacuum found enough changes
        SELECT NULL, 'the row and page counts of all relations', relations, '^rel(tuples|pages|all|frozenxid|minmxid)'
        UNION ALL -- whoever inserts a row locks the one that it refers to, and leaves its transaction there
        SELECT r.dataset, 'a table that the private table refers to, where xmax tells which rows new ones refer to',
               r.relid, '^xmax$'
          FROM referred AS r
    ),

    -- Functions that tell something. Those of pg_catalog by what they return: any number from the statistics,
    -- any position in the write-ahead log that is not computed from the arguments. But some check for
    -- themselves whom they serve, those of replication slots too, and some number the sessions themselves.
    revealing (dataset, what, proc) AS (
        SELECT NULL, CASE
                   WHEN p.proname ~ '^pg_stat_get_(activity|progress_info|wal_receiver|wal_senders)$'
                        OR p.proname ~ '^pg_stat_get_backend_(pid|idset|client_port)$' THEN NULL
                   WHEN p.proargtypes = '26' AND p.proname ~ '^pg_stat_get_(?!db_|subscription)'
                       THEN 'a function that counts the rows of a table, or scans and changes of it'
                   WHEN p.proname ~ '^pg_stat_get_' AND (p.proargtypes = '26' OR p.prorettype || p.proallargtypes
                            && '{int4,int8,float8,numeric}'::regtype[]::oid[])
                        OR p.proname = 'pg_notification_queue_usage'
                       THEN 'a function that counts what the sessions read, write and do'
                   WHEN p.proname = 'pg_wal_summary_contents'
                       THEN 'a function that tells which pages were changed'
                   WHEN p.provolatile <> 'i' AND 'pg_lsn'::regtype = ANY (p.prorettype || p.proallargtypes)
                        AND p.proname !~ '_slot(_|$)'
                        OR p.proname = 'pg_control_system' -- when the last checkpoint was, which much writing brings on
                       THEN 'a function that tells how much was written'
                   WHEN p.proname ~ '^pg_(relation|table|indexes|total_relation|database|tablespace)_size$'
                       THEN 'a function that tells sizes'
                   WHEN p.proname = 'pg_lock_status'
                       THEN 'a function that tells which rows and pages are locked'
                   WHEN p.proname ~ '_blocking_pids$|_session_is_blocked$'
                       THEN 'a function that tells which sessions wait for each other'
                   WHEN p.proname IN ('pg_read_file', 'pg_read_binary_file', 'pg_stat_file', 'pg_ls_dir',
                                      'pg_ls_tmpdir', 'lo_import', 'lo_export')
                       THEN 'a function that uses the files of the server'
               END, p.oid
          FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace
        UNION ALL
        SELECT NULL, 'a function of the extension ' || x.extname || ', which reads with the rights of the server', p.oid
          FROM pg_catalog.pg_extension AS x
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = extensions AND e.refobjid = x.oid AND e.deptype = 'e'
          JOIN pg_catalog.pg_proc AS p ON e.classid = functions AND p.oid = e.objid
         WHERE x.extname IN ('pgstattuple', 'pg_visibility', 'pg_freespacemap', 'pg_buffercache', 'pg_walinspect',
                             'pg_logicalinspect', 'amcheck') AND p.proname !~ 'evict' -- which asks for a superuser
            OR (x.extname, p.proname) IN (('pg_stat_statements', 'pg_stat_statements'),
                                          ('dblink', 'dblink_connect_u'), ('adminpack', 'pg_file_write'))
        UNION ALL -- sizes, statements of others, commands on other nodes; not what returns nothing or yes or no,
                  -- what is computed from the arguments, nor what Citus itself calls in the session of any role
        SELECT NULL, 'a function of the extension ' || x.extname || ', which tells or fetches what lies on the nodes', p.oid
          FROM pg_catalog.pg_extension AS x
          JOIN pg_catalog.pg_depend AS e ON e.refclassid = extensions AND e.refobjid = x.oid AND e.deptype = 'e'
          JOIN pg_catalog.pg_proc AS p ON e.classid = functions AND p.oid = e.objid
         WHERE x.extname IN ('citus', 'citus_columnar') AND p.provolatile <> 'i'
           AND NOT 'internal'::regtype = ANY (p.proargtypes)
           AND (p.prorettype NOT IN ('void'::regtype, 'bool'::regtype, 'event_trigger'::regtype, 'trigger'::regtype)
                OR p.proname ~ '_update_(shard|table)_statistics$')
           AND p.proname !~ ('^(any_value|citus_jsonb?_concatenate|column_|get_current_transaction|get_shard_id_for|'
                             'shard_name$|citus_(backend_gpid|calculate_gpid|coordinator_nodeid|drop_all_shards|version)$|'
                             'citus_.*_for_(gpid|nodeid)$|(broadcast|create|fetch|read)_intermediate_results?$|'
                             'worker_(hash|last_saved_explain|nextval|partition_query_result|save_query_explain))')
        UNION ALL -- what it reads only its body tells; those of pg_dp are fine
        SELECT d.name, 'a SECURITY DEFINER function whose owner may read the private table', p.oid
          FROM checked AS d JOIN pg_catalog.pg_class AS c ON c.oid = d.entities
          JOIN pg_catalog.pg_proc AS p ON pg_catalog.has_any_column_privilege(p.proowner, c.oid, 'SELECT')
         WHERE p.prosecdef AND p.oid NOT IN (SELECT o.oid FROM own_function AS o)
    ),

    -- All in one form. No dataset: it concerns every one. further: what has to follow the REVOKE.
    thing (dataset, what, classid, objid, columns, acl, privileges, owner, for_owner, further) AS (
        SELECT r.dataset, r.what, relations, c.oid, '', c.relacl, r.privileges, c.relowner, r.for_owner, ''
          FROM relation AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.relid
        UNION ALL
        SELECT r.dataset, 'a column of ' || r.what, relations, c.oid, pg_catalog.format(' (%I)', a.attname),
               a.attacl, r.privileges, c.relowner, false, ''
          FROM relation AS r JOIN pg_catalog.pg_class AS c ON c.oid = r.relid
          JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND NOT a.attisdropped
        UNION ALL -- as a privilege on a table covers its columns, it has to be granted anew on the other ones. The
                  -- server does not need reltuples, relpages, some clients do (pg_dump, JDBC's getIndexInfo).
        SELECT w.dataset, w.what, relations, c.oid, '', c.relacl, ARRAY['SELECT'], c.relowner, false,
               pg_catalog.replace((
                   SELECT pg_catalog.format('; GRANT SELECT (%s) ON TABLE %I.%I TO ',
                                            pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ' ORDER BY a.attnum),
                                            n.nspname, c.relname)
                     FROM pg_catalog.pg_attribute AS a
                    WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname !~ w.columns), '%', '%%') || '%s'
          FROM withheld AS w JOIN pg_catalog.pg_class AS c ON c.oid = w.relid
          JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        UNION ALL
        SELECT w.dataset, w.what, relations, c.oid, pg_catalog.format(' (%I)', a.attname), a.attacl, ARRAY['SELECT'],
               c.relowner, false, ''
          FROM withheld AS w JOIN pg_catalog.pg_class AS c ON c.oid = w.relid
          JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attname ~ w.columns
        UNION ALL
        SELECT f.dataset, f.what, functions, p.oid, '', coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)),
               ARRAY['EXECUTE'], p.proowner, false, ''
          FROM revealing AS f JOIN pg_catalog.pg_proc AS p ON p.oid = f.proc WHERE f.what IS NOT NULL
        UNION ALL -- whose owner can replace it by one that passes the rows on
        SELECT u.dataset, 'a function that runs on rows of the private table', functions, p.oid, '', NULL, NULL,
               p.proowner, true, ''
          FROM used AS u JOIN pg_catalog.pg_proc AS p ON u.classid = functions AND p.oid = u.objid
        UNION ALL -- whose owner can add a check, which the server runs on all values of the type, in every table
        SELECT c.dataset, 'a domain of the private table', types, t.oid, '', NULL, NULL, t.typowner, true, ''
          FROM column_type AS c JOIN pg_catalog.pg_type AS t ON t.oid = c.typid AND t.typtype = 'd'
        UNION ALL -- with which one can make a foreign table of one's own
        SELECT u.dataset, 'the foreign server of the private table', servers, s.oid, '', s.srvacl, ARRAY['USAGE'],
               s.srvowner, true, ''
          FROM used AS u JOIN pg_catalog.pg_foreign_server AS s ON u.classid = servers AND s.oid = u.objid
        UNION ALL -- a query is planned, and debug_print_plan prints that with estimates from the planner's
                  -- statistics, before the privileges on its tables are checked; those on a schema come first
        SELECT DISTINCT p.dataset, 'the schema of the private table: plans with estimates can be printed', schemas,
               n.oid, '', n.nspacl, ARRAY['USAGE'], n.nspowner, true,
               CASE WHEN n.nspname = 'public' OR n.oid = (SELECT x.extnamespace FROM pg_catalog.pg_extension AS x WHERE x.extname = 'pg_dp') THEN ' -- or have the table in another schema, which is better' ELSE '' END
          FROM private AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.relid AND p.part < 4
          JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        UNION ALL
        SELECT s.dataset, 'a schema where functions of pg_dp are looked up', schemas, n.oid, '', n.nspacl,
               ARRAY['CREATE'], n.nspowner, false, ''
          FROM passed AS s JOIN pg_catalog.pg_namespace AS n ON n.oid = s.schema
        UNION ALL
        SELECT NULL, 'the database: functions of pg_dp are also looked up in a schema named like the caller', databases,
               d.oid, '', d.datacl, ARRAY['CREATE'], d.datdba, false, ''
          FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()
        UNION ALL -- such as what is logged and which libraries are loaded
        SELECT NULL, 'a setting that is reserved to superusers', settings, s.oid, '', s.paracl, NULL, 10, false, ''
          FROM pg_catalog.pg_parameter_acl AS s
        UNION ALL
        SELECT NULL, 'the database, who may VACUUM VERBOSE, which counts rows', databases, d.oid, '', NULL, NULL,
               d.datdba, true, ''
          FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()
        UNION ALL
        SELECT NULL, 'another database, where the counters of this one can be read', databases, d.oid, '',
               coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba)), ARRAY['CONNECT'], d.datdba, false,
               ' -- or revoke there, too, EXECUTE on the functions that count'
          FROM pg_catalog.pg_database AS d WHERE d.datname <> pg_catalog.current_database() AND d.datallowconn
    ), named AS (
        SELECT d.name, d.owner AS dataset_owner, t.*, i.identity,
               CASE i.type
                   WHEN 'sequence' THEN 'SEQUENCE ' WHEN 'function' THEN 'FUNCTION ' WHEN 'procedure' THEN 'PROCEDURE '
                   WHEN 'type' THEN 'DOMAIN ' WHEN 'server' THEN 'FOREIGN SERVER ' WHEN 'database' THEN 'DATABASE ' WHEN 'schema' THEN 'SCHEMA '
                   WHEN 'parameter ACL' THEN 'PARAMETER ' ELSE 'TABLE '
               END || i.identity AS target
          FROM checked AS d JOIN thing AS t ON d.name = coalesce(t.dataset, d.name)
         CROSS JOIN LATERAL pg_catalog.pg_identify_object(t.classid, t.objid, 0) AS i
    )

    SELECT DISTINCT found.* FROM (
        SELECT d.name, 'owner of the dataset', d.owner::regrole::text,
               '-- it declared the dataset: have a role do that which no analyst is a member of'
          FROM owned AS d WHERE d.owner = analyst
        UNION ALL
        SELECT d.name, 'member of the owner of the dataset', r.name, r.leave
          FROM checked AS d JOIN reachable AS r ON r.oid = d.owner
        UNION ALL
        SELECT d.name, pg_catalog.format('member of %s, which %s', r.name, p.power), r.name, r.leave
          FROM checked AS d CROSS JOIN reachable AS r JOIN predefined AS p ON p.name = r.name
        UNION ALL -- attributes are not inherited, but SET ROLE leads to them
        SELECT d.name, a.hole, r.name, coalesce(r.leave, pg_catalog.format('ALTER ROLE %s %s', r.name, a.change))
          FROM checked AS d CROSS JOIN reachable AS r CROSS JOIN LATERAL (VALUES
            ('member of a superuser', r.rolsuper, NULL),
            ('REPLICATION, which copies the whole server', r.rolreplication AND NOT r.rolsuper, 'NOREPLICATION'),
            ('CREATEROLE, which before PostgreSQL 16 can give itself any role that is no superuser',
             r.rolcreaterole AND NOT r.rolsuper AND version < 160000, 'NOCREATEROLE')
          ) AS a (hole, applies, change) WHERE a.applies
        UNION ALL
        SELECT t.name, 'owner of ' || t.what, t.identity,
               coalesce(r.leave, pg_catalog.format('ALTER %s OWNER TO %s', pg_catalog.replace(t.target, 'FOREIGN ', ''),
                                                   t.dataset_owner::regrole))
          FROM named AS t JOIN reachable AS r ON r.oid = t.owner
         WHERE t.for_owner AND NOT r.rolsuper AND r.oid <> t.dataset_owner
        UNION ALL
        SELECT s.dataset, 'owner of a schema where functions of pg_dp are looked up', n.nspname,
               coalesce(r.leave, pg_catalog.format('ALTER SCHEMA %I OWNER TO %s', n.nspname, s.heir::regrole))
          FROM passed AS s JOIN pg_catalog.pg_namespace AS n ON n.oid = s.schema
          JOIN reachable AS r ON r.oid = n.nspowner AND NOT r.rolsuper AND r.oid <> s.owner
        UNION ALL -- made while the role had CREATE, or by an owner of the schema
        SELECT s.dataset, 'owner of a function named like one of pg_dp', i.identity, 'DROP ROUTINE ' || i.identity
          FROM passed AS s JOIN pg_catalog.pg_proc AS p ON p.pronamespace = s.schema
          JOIN reachable AS r ON r.oid = p.proowner AND NOT r.rolsuper AND r.oid <> s.owner
         CROSS JOIN LATERAL pg_catalog.pg_identify_object(functions, p.oid, 0) AS i
         WHERE p.proname IN (SELECT o.name FROM own_function AS o) AND p.oid NOT IN (SELECT o.oid FROM own_function AS o)
        UNION ALL -- a grant by somebody who had the grant option is revoked in that role
        SELECT t.name, g.privilege_type || ' on ' || t.what, t.identity || t.columns,
               pg_catalog.format(CASE WHEN g.grantor = t.owner THEN '%2$s' ELSE 'SET ROLE %1$s; %2$s; RESET ROLE' END,
                   g.grantor::regrole,
                   pg_catalog.format('REVOKE %s%s ON %s FROM %s%s', g.privilege_type, t.columns, t.target, h.name,
                                     CASE WHEN g.is_grantable THEN ' CASCADE' END))
                   || pg_catalog.format(t.further, h.name)
          FROM named AS t CROSS JOIN LATERAL pg_catalog.aclexplode(t.acl) AS g JOIN holder AS h ON h.oid = g.grantee
         WHERE g.grantee NOT IN (t.owner, t.dataset_owner)
           AND (t.privileges IS NULL OR g.privilege_type = ANY (t.privileges))
    ) AS found ORDER BY 1, 2, 3, 4;
END $$;
COMMENT ON FUNCTION @extschema@.dp_check_privileges(regrole) IS
    'by which privileges a role could learn about private rows of your datasets around pg_dp, each with a statement that takes it away';
