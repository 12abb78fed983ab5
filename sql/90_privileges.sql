-- Ways around pg_dp -----------------------------------------------------------------------------

-- dp_check_privileges tells by which privileges a role could learn about private rows. It is the
-- union of three views: what a role is (check_memberships), owns (check_owners) and was granted
-- (check_grants). Nearly everything that leads to private rows has an owner and a list of grants,
-- so all of it is brought into one form first (check_objects).
--
-- Everybody may read the views, as dp_check_privileges does for its caller: all but the first one
-- read with the rights of whoever asks (security_invoker), and so show nothing that PostgreSQL's
-- catalog does not. They are about the datasets of one's own. Where dataset is NULL, it concerns
-- every one.
--
-- Listed are functions rather than the views over them (pg_stat_all_tables, pg_locks, ...): whoever
-- queries a view needs the privilege on the functions in it. Not listed is what opens nothing:
-- BYPASSRLS (datasets have no row-level security), pg_signal_backend, pg_checkpoint, and the
-- functions of pageinspect, pgrowlocks and pg_prewarm, which check for themselves whom they serve.
-- Nor what nothing closes: the numbers of transactions and of new objects, which show in every row
-- and object that a role makes.
--
-- Every remedy can be executed as it is; where no statement helps it is a comment. What was revoked
-- from PUBLIC can be granted to the roles that need it, such as pg_monitor.

-- With the rights of its owner, as dp.datasets, of which it shows a part, and without the budgets,
-- whose sums would take most of the time here.
CREATE VIEW dp.check_datasets WITH (security_barrier) AS
    SELECT d.name AS dataset, d.owner, d.entities, d.groups
      FROM dp.dataset AS d
     WHERE d.dropped_at IS NULL AND pg_catalog.pg_has_role(dp.role(d.owner, d.owner_name), 'USAGE')
       AND pg_catalog.pg_has_role(d.owner, 'USAGE');
COMMENT ON VIEW dp.check_datasets IS 'inside of dp_check_privileges: your datasets';


-- Roles: whose rights one has or can take.

-- MEMBER, not USAGE: who does not inherit can SET ROLE, and who only administers a membership can
-- grant it to itself in full. To a superuser everything is open; a list of it all would only hide
-- that.
CREATE VIEW dp.check_roles WITH (security_invoker) AS
    SELECT m.oid AS role, r.oid AS reached, r.oid::regrole::text AS name,
           r.rolsuper, r.rolcreaterole, r.rolreplication,
           CASE WHEN r.oid <> m.oid THEN coalesce(
               (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.format(
                           'REVOKE %s FROM %s%s', a.roleid::regrole, m.oid::regrole,
                           CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 160000
                                THEN ' GRANTED BY ' || a.grantor::regrole END), '; ')
                  FROM pg_catalog.pg_auth_members AS a
                 WHERE a.member = m.oid AND pg_catalog.pg_has_role(a.roleid, r.oid, 'MEMBER')),
               -- pg_database_owner
               '-- the owner of the database is a member: give the database another owner')
           END AS leave
      FROM pg_catalog.pg_roles AS m
      JOIN pg_catalog.pg_roles AS r ON pg_catalog.pg_has_role(m.oid, r.oid, 'MEMBER')
     WHERE NOT m.rolsuper;
COMMENT ON VIEW dp.check_roles IS
    'inside of dp_check_privileges: whose rights a role has or can take, and what ends that';

CREATE VIEW dp.check_predefined (name, power) WITH (security_invoker) AS VALUES
    ('pg_read_all_data', 'reads every table'),
    ('pg_write_all_data', 'writes every table, also the ledger'),
    ('pg_read_all_stats', 'sees the statements of other sessions'),
    ('pg_monitor', 'sees the sizes of temporary files'),
    ('pg_stat_scan_tables', 'may use extensions that count rows'),
    ('pg_read_server_files', 'reads the files of the server'),
    ('pg_write_server_files', 'writes the files of the server'),
    ('pg_execute_server_program', 'runs programs as the server'),
    ('pg_maintain', 'may VACUUM VERBOSE, which counts rows');
COMMENT ON VIEW dp.check_predefined IS
    'inside of dp_check_privileges: predefined roles whose members learn about rows';

CREATE VIEW dp.check_grantees (role, grantee, name) WITH (security_invoker) AS
    SELECT r.oid, 0::oid, 'PUBLIC' FROM pg_catalog.pg_roles AS r WHERE NOT r.rolsuper
    UNION ALL -- what superusers and predefined roles hold is reported as membership in them
    SELECT r.role, r.reached, r.name
      FROM dp.check_roles AS r
     WHERE NOT r.rolsuper AND r.name NOT IN (SELECT p.name FROM dp.check_predefined AS p);
COMMENT ON VIEW dp.check_grantees IS
    'inside of dp_check_privileges: through whose grants a role has privileges';

CREATE VIEW dp.check_memberships (role, dataset, hole, object, remedy) WITH (security_invoker) AS
    SELECT r.oid, d.dataset, 'superuser', r.oid::regrole::text,
           pg_catalog.format('ALTER ROLE %s NOSUPERUSER', r.oid::regrole)
      FROM dp.check_datasets AS d CROSS JOIN pg_catalog.pg_roles AS r
     WHERE r.rolsuper
    UNION ALL
    SELECT r.oid, d.dataset, 'owner of the dataset', r.oid::regrole::text,
           '-- it declared the dataset: have a role do that which no analyst is a member of'
      FROM dp.check_datasets AS d JOIN pg_catalog.pg_roles AS r ON r.oid = d.owner
     WHERE NOT r.rolsuper
    UNION ALL
    SELECT r.role, d.dataset, 'member of the owner of the dataset', r.name, r.leave
      FROM dp.check_datasets AS d
      JOIN dp.check_roles AS r ON r.reached = d.owner AND r.role <> d.owner
    UNION ALL
    SELECT r.role, d.dataset, pg_catalog.format('member of %s, which %s', r.name, p.power),
           r.name, r.leave
      FROM dp.check_datasets AS d
      JOIN dp.check_roles AS r ON r.role <> d.owner
      JOIN dp.check_predefined AS p ON p.name = r.name
    UNION ALL -- attributes are not inherited, but SET ROLE leads to them
    SELECT r.role, d.dataset, a.hole, r.name,
           coalesce(r.leave, pg_catalog.format('ALTER ROLE %s %s', r.name, a.change))
      FROM dp.check_datasets AS d
      JOIN dp.check_roles AS r ON r.role <> d.owner
     CROSS JOIN LATERAL (VALUES
        ('member of a superuser', r.rolsuper, NULL),
        ('REPLICATION, which copies the whole server',
         r.rolreplication AND NOT r.rolsuper, 'NOREPLICATION'),
        ('CREATEROLE, which before PostgreSQL 16 can give itself any role that is no superuser',
         r.rolcreaterole AND NOT r.rolsuper
         AND pg_catalog.current_setting('server_version_num')::int < 160000, 'NOCREATEROLE')
      ) AS a (hole, applies, change)
     WHERE a.applies;
COMMENT ON VIEW dp.check_memberships IS
    'inside of dp_check_privileges: roles that are, or can become, one that learns about rows';


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
    SELECT d.dataset, p.relid, p.part
      FROM dp.check_datasets AS d
     CROSS JOIN LATERAL dp.private_relations(d.entities, d.groups) AS p;
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


-- What tells something, to its owner (if for_owner) or to whoever has one of the privileges (NULL:
-- any).

-- Besides SELECT: INSERT and UPDATE meet constraints, REFERENCES makes one, UPDATE and DELETE count
-- rows, a TRIGGER sees them, MAINTAIN allows VACUUM VERBOSE. Owning a view opens nothing.
CREATE VIEW dp.check_relations (dataset, what, relid, privileges, for_owner)
    WITH (security_invoker) AS
    WITH private AS MATERIALIZED (
        TABLE dp.check_private
    ), referred AS MATERIALIZED (
        TABLE dp.check_referred
    )
    SELECT p.dataset,
           (ARRAY['the private table', 'a part of the private table',
                  'a source of the private table',
                  'a relation that reads the private table'])[p.part],
           p.relid, NULL::text[], c.relkind <> 'v'
      FROM private AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.relid
     WHERE c.oid NOT IN (SELECT i.oid FROM dp.check_invoker_views AS i)
    UNION ALL -- a sequence that a column owns has the owner of the table
    SELECT u.dataset, 'a sequence of the private table', c.oid, NULL,
           NOT EXISTS (SELECT FROM pg_catalog.pg_depend AS e
                        WHERE e.classid = 'pg_catalog.pg_class'::regclass AND e.objid = c.oid
                          AND e.refclassid = 'pg_catalog.pg_class'::regclass
                          AND e.deptype IN ('a', 'i'))
      FROM dp.check_used AS u
      JOIN pg_catalog.pg_class AS c
           ON u.classid = 'pg_catalog.pg_class'::regclass AND c.oid = u.objid AND c.relkind = 'S'
    UNION ALL -- errors of a foreign key tell whether a key occurs
    SELECT p.dataset, 'a table whose foreign key refers to the private table', k.conrelid,
           ARRAY['INSERT', 'UPDATE'], true
      FROM private AS p
      JOIN pg_catalog.pg_constraint AS k ON k.confrelid = p.relid AND k.contype = 'f'
     WHERE p.part < 4 AND k.conrelid <> k.confrelid
    UNION ALL
    SELECT r.dataset, 'a table that the private table refers to', r.relid,
           ARRAY['UPDATE', 'DELETE'], true
      FROM referred AS r
    UNION ALL -- see check_columns; a view reads it with the rights of its owner
    SELECT r.dataset, 'a view of xmax of a table that the private table refers to', w.ev_class,
           ARRAY['SELECT'], false
      FROM referred AS r
      JOIN pg_catalog.pg_depend AS e
           ON e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = r.relid
      JOIN pg_catalog.pg_attribute AS a
           ON a.attrelid = r.relid AND a.attnum = e.refobjsubid AND a.attname = 'xmax'
      JOIN pg_catalog.pg_rewrite AS w
           ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid AND w.ev_type = '1'
    UNION ALL -- a rule acts with the rights of the owner of its relation
    SELECT p.dataset, 'a relation with a rule that uses the private table', w.ev_class,
           ARRAY[CASE w.ev_type WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END],
           true
      FROM private AS p
      JOIN pg_catalog.pg_depend AS e
           ON e.refclassid = 'pg_catalog.pg_class'::regclass AND e.refobjid = p.relid
      JOIN pg_catalog.pg_rewrite AS w
           ON e.classid = 'pg_catalog.pg_rewrite'::regclass AND e.objid = w.oid AND w.ev_type <> '1'
     WHERE w.ev_class <> p.relid
    UNION ALL
    SELECT NULL, 'the ledger', c.oid,
           ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER'], true
      FROM pg_catalog.pg_class AS c
     WHERE c.relnamespace = 'dp'::regnamespace AND c.relkind = 'r'
    UNION ALL
    -- values and histograms; the view pg_stats shows them to those who may read the column
    SELECT NULL, 'the statistics of the planner', s.relid, ARRAY['SELECT'], false
      FROM (VALUES ('pg_catalog.pg_statistic'::regclass), ('pg_catalog.pg_statistic_ext_data'))
           AS s (relid)
    UNION ALL
    -- these show them to the owner of the table, unless the cluster is of before 15.7 or 16.3
    SELECT p.dataset, 'extended statistics that everybody sees here (CVE-2024-4317)', v.relid,
           ARRAY['SELECT'], false
      FROM private AS p
      JOIN pg_catalog.pg_statistic_ext AS x ON x.stxrelid = p.relid
     CROSS JOIN (VALUES ('pg_catalog.pg_stats_ext'::regclass), ('pg_catalog.pg_stats_ext_exprs'))
                AS v (relid)
     WHERE pg_catalog.pg_get_viewdef(v.relid) NOT LIKE '%pg_has_role(c.relowner%';
COMMENT ON VIEW dp.check_relations IS
    'inside of dp_check_privileges: relations that tell something about private rows';

CREATE VIEW dp.check_columns (dataset, what, relid, columns) WITH (security_invoker) AS
    -- the last two move when autovacuum found enough changes
    SELECT NULL, 'the row and page counts of all relations', 'pg_catalog.pg_class'::regclass::oid,
           '^rel(tuples|pages|all|frozenxid|minmxid)'
    UNION ALL
    -- whoever inserts a row locks the one that it refers to, and leaves its transaction there
    SELECT r.dataset,
           'a table that the private table refers to, '
           'where xmax tells which rows new ones refer to',
           r.relid, '^xmax$'
      FROM dp.check_referred AS r;
COMMENT ON VIEW dp.check_columns IS
    'inside of dp_check_privileges: columns that tell something, of relations that may be read';

-- By what they return: any number from the statistics, any position in the write-ahead log that is
-- not computed from the arguments. But some check for themselves whom they serve, those of
-- replication slots too, and some number the sessions themselves.
CREATE VIEW dp.check_server_functions WITH (security_invoker) AS
    SELECT f.what, f.proc FROM (
        SELECT CASE
               WHEN p.proname ~ '^pg_stat_get_(activity|progress_info|wal_receiver|wal_senders)$'
                    OR p.proname ~ '^pg_stat_get_backend_(pid|idset|client_port)$' THEN NULL
               WHEN p.proargtypes = '26' AND p.proname ~ '^pg_stat_get_(?!db_|subscription)'
                   THEN 'a function that counts the rows of a table, or scans and changes of it'
               WHEN p.proname ~ '^pg_stat_get_'
                    AND (p.proargtypes = '26'
                         OR p.prorettype || p.proallargtypes
                            && '{int4,int8,float8,numeric}'::regtype[]::oid[])
                    OR p.proname = 'pg_notification_queue_usage'
                   THEN 'a function that counts what the sessions read, write and do'
               WHEN p.proname = 'pg_wal_summary_contents'
                   THEN 'a function that tells which pages were changed'
               WHEN p.provolatile <> 'i'
                    AND 'pg_lsn'::regtype = ANY (p.prorettype || p.proallargtypes)
                    AND p.proname !~ '_slot(_|$)'
                    -- when the last checkpoint was, which much writing brings on
                    OR p.proname = 'pg_control_system'
                   THEN 'a function that tells how much was written'
               WHEN p.proname ~ '^pg_((total_)?relation|table|indexes|database|tablespace)_size$'
                   THEN 'a function that tells sizes'
               WHEN p.proname = 'pg_lock_status'
                   THEN 'a function that tells which rows and pages are locked'
               WHEN p.proname ~ '_blocking_pids$|_session_is_blocked$'
                   THEN 'a function that tells which sessions wait for each other'
               WHEN p.proname IN ('pg_read_file', 'pg_read_binary_file', 'pg_stat_file',
                                  'pg_ls_dir', 'pg_ls_tmpdir', 'lo_import', 'lo_export')
                   THEN 'a function that uses the files of the server'
               END AS what, p.oid AS proc
          FROM pg_catalog.pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace
    ) AS f
     WHERE f.what IS NOT NULL;
COMMENT ON VIEW dp.check_server_functions IS
    'inside of dp_check_privileges: functions of PostgreSQL that tell something about private rows';

CREATE VIEW dp.check_installed WITH (security_invoker) AS
    SELECT x.extname AS extension, p.oid AS proc, p.proname, p.proargtypes, p.prorettype,
           p.provolatile
      FROM pg_catalog.pg_extension AS x
      JOIN pg_catalog.pg_depend AS e
           ON e.refclassid = 'pg_catalog.pg_extension'::regclass AND e.refobjid = x.oid
           AND e.deptype = 'e'
      JOIN pg_catalog.pg_proc AS p
           ON e.classid = 'pg_catalog.pg_proc'::regclass AND p.oid = e.objid;
COMMENT ON VIEW dp.check_installed IS 'inside of dp_check_privileges: the functions of extensions';

CREATE VIEW dp.check_extension_functions (what, proc) WITH (security_invoker) AS
    SELECT 'a function of the extension ' || i.extension
               || ', which reads with the rights of the server', i.proc
      FROM dp.check_installed AS i
     WHERE i.extension IN ('pgstattuple', 'pg_visibility', 'pg_freespacemap', 'pg_buffercache',
                           'pg_walinspect', 'pg_logicalinspect', 'amcheck')
           AND i.proname !~ 'evict' -- which asks for a superuser
        OR (i.extension, i.proname) IN (('pg_stat_statements', 'pg_stat_statements'),
                                        ('dblink', 'dblink_connect_u'),
                                        ('adminpack', 'pg_file_write'))
    UNION ALL
    -- sizes, statements of others, commands on other nodes; not what returns nothing or yes or no,
    -- what is computed from the arguments, nor what Citus itself calls in the session of any role
    SELECT 'a function of the extension ' || i.extension
               || ', which tells or fetches what lies on the nodes', i.proc
      FROM dp.check_installed AS i
     WHERE i.extension IN ('citus', 'citus_columnar') AND i.provolatile <> 'i'
       AND NOT 'internal'::regtype = ANY (i.proargtypes)
       AND (i.prorettype <> ALL ('{void,bool,event_trigger,trigger}'::regtype[]::oid[])
            OR i.proname ~ '_update_(shard|table)_statistics$')
       AND i.proname !~
           ('^(any_value|citus_jsonb?_concatenate|column_|get_current_transaction|get_shard_id_for|'
            'shard_name$|'
            'citus_(backend_gpid|calculate_gpid|coordinator_nodeid|drop_all_shards|version)$|'
            'citus_.*_for_(gpid|nodeid)$|'
            '(broadcast|create|fetch|read)_intermediate_results?$|'
            'worker_(hash|last_saved_explain|nextval|partition_query_result|save_query_explain))');
COMMENT ON VIEW dp.check_extension_functions IS
    'inside of dp_check_privileges: functions of extensions that tell something about private rows';

CREATE VIEW dp.check_definers (dataset, what, proc) WITH (security_invoker) AS
    -- what it reads only its body tells; those of pg_dp are fine
    SELECT d.dataset, 'a SECURITY DEFINER function whose owner may read the private table', p.oid
      FROM dp.check_datasets AS d
      JOIN pg_catalog.pg_class AS c ON c.oid = d.entities
      JOIN pg_catalog.pg_proc AS p
           ON pg_catalog.has_any_column_privilege(p.proowner, c.oid, 'SELECT')
     WHERE p.prosecdef
       AND p.oid NOT IN (SELECT i.proc FROM dp.check_installed AS i WHERE i.extension = 'pg_dp');
COMMENT ON VIEW dp.check_definers IS
    'inside of dp_check_privileges: functions that may read private tables for whoever calls them';

-- A function of the same name there, whose types match better, takes the calls. The default
-- search_path begins with a schema named like the role that calls.
CREATE VIEW dp.check_lookups WITH (security_invoker) AS
    SELECT d.dataset, d.owner, n.oid AS schema, x.extowner AS heir
      FROM dp.check_datasets AS d
      JOIN pg_catalog.pg_extension AS x ON x.extname = 'pg_dp'
      JOIN pg_catalog.pg_namespace AS n
           ON n.oid = x.extnamespace OR n.nspname IN ('dp', pg_catalog.pg_get_userbyid(d.owner));
COMMENT ON VIEW dp.check_lookups IS
    'inside of dp_check_privileges: schemas where functions of pg_dp are looked up';


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
           CASE WHEN n.nspname = 'public'
                     OR n.oid = (SELECT x.extnamespace
                                   FROM pg_catalog.pg_extension AS x WHERE x.extname = 'pg_dp')
                THEN ' -- or have the table in another schema, which is better'
                ELSE ''
           END AS further
      FROM dp.check_private AS p
      JOIN pg_catalog.pg_class AS c ON c.oid = p.relid AND p.part < 4
      JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
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


-- Who owns it, and who was granted it.

CREATE VIEW dp.check_owners (role, dataset, hole, object, remedy) WITH (security_invoker) AS
    SELECT r.role, d.dataset, 'owner of ' || o.what, o.identity,
           coalesce(r.leave, pg_catalog.format(
               'ALTER %s OWNER TO %s', pg_catalog.replace(o.target, 'FOREIGN ', ''),
               d.owner::regrole))
      FROM dp.check_objects AS o
      JOIN dp.check_datasets AS d ON d.dataset = coalesce(o.dataset, d.dataset)
      JOIN dp.check_roles AS r ON r.reached = o.owner AND r.role <> d.owner
     WHERE o.for_owner AND NOT r.rolsuper AND r.reached <> d.owner
    UNION ALL
    SELECT r.role, l.dataset, 'owner of a schema where functions of pg_dp are looked up', n.nspname,
           coalesce(r.leave, pg_catalog.format('ALTER SCHEMA %I OWNER TO %s',
                                               n.nspname, l.heir::regrole))
      FROM dp.check_lookups AS l
      JOIN pg_catalog.pg_namespace AS n ON n.oid = l.schema
      JOIN dp.check_roles AS r ON r.reached = n.nspowner AND r.role <> l.owner
     WHERE NOT r.rolsuper AND r.reached <> l.owner
    UNION ALL -- made while the role had CREATE, or by an owner of the schema
    SELECT r.role, l.dataset, 'owner of a function named like one of pg_dp', i.identity,
           'DROP ROUTINE ' || i.identity
      FROM dp.check_lookups AS l
      JOIN pg_catalog.pg_proc AS p ON p.pronamespace = l.schema
      JOIN dp.check_roles AS r ON r.reached = p.proowner AND r.role <> l.owner
     CROSS JOIN LATERAL pg_catalog.pg_identify_object('pg_catalog.pg_proc'::regclass, p.oid, 0) AS i
     WHERE NOT r.rolsuper AND r.reached <> l.owner
       AND p.proname IN (SELECT o.proname FROM dp.check_installed AS o WHERE o.extension = 'pg_dp')
       AND p.oid NOT IN (SELECT o.proc FROM dp.check_installed AS o WHERE o.extension = 'pg_dp');
COMMENT ON VIEW dp.check_owners IS
    'inside of dp_check_privileges: who owns what tells about rows, or can become an owner';

-- A grant by somebody who had the grant option is revoked in that role.
CREATE VIEW dp.check_grants (role, dataset, hole, object, remedy) WITH (security_invoker) AS
    SELECT h.role, d.dataset, g.privilege_type || ' on ' || o.what, o.identity || o.columns,
           pg_catalog.format(
               CASE WHEN g.grantor = o.owner THEN '%2$s' ELSE 'SET ROLE %1$s; %2$s; RESET ROLE' END,
               g.grantor::regrole,
               pg_catalog.format(
                   'REVOKE %s%s ON %s FROM %s%s', g.privilege_type, o.columns, o.target, h.name,
                   CASE WHEN g.is_grantable THEN ' CASCADE' END))
               || pg_catalog.format(o.further, h.name)
      FROM dp.check_objects AS o
     CROSS JOIN LATERAL pg_catalog.aclexplode(o.acl) AS g
      JOIN dp.check_grantees AS h ON h.grantee = g.grantee
      JOIN dp.check_datasets AS d
           ON d.dataset = coalesce(o.dataset, d.dataset) AND d.owner <> h.role
     WHERE g.grantee NOT IN (o.owner, d.owner)
       AND (o.privileges IS NULL OR g.privilege_type = ANY (o.privileges));
COMMENT ON VIEW dp.check_grants IS
    'inside of dp_check_privileges: privileges that tell about rows, and who was granted them';

GRANT SELECT ON
    dp.check_datasets, dp.check_roles, dp.check_predefined, dp.check_grantees, dp.check_memberships,
    dp.check_invoker_views, dp.check_private, dp.check_column_types, dp.check_used,
    dp.check_referred, dp.check_relations, dp.check_columns, dp.check_server_functions,
    dp.check_installed, dp.check_extension_functions, dp.check_definers, dp.check_lookups,
    dp.check_relation_objects, dp.check_function_objects, dp.check_used_objects,
    dp.check_schema_objects, dp.check_database_objects, dp.check_objects, dp.check_owners,
    dp.check_grants
    TO PUBLIC;

CREATE FUNCTION @extschema@.dp_check_privileges(role regrole)
    RETURNS TABLE (dataset text, hole text, object text, remedy text)
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, pg_temp
    SET jit = off -- compiling so large a plan takes far longer than executing it
AS $$
BEGIN
    IF role IS NULL THEN
        RAISE 'role must not be NULL'
            USING ERRCODE = 'null_value_not_allowed', HINT = 'Name the role to check.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.oid = role) THEN
        RAISE 'role with OID % does not exist', role::oid
            USING ERRCODE = 'undefined_object', HINT = 'The view pg_roles lists the roles.';
    END IF;

    RETURN QUERY
    SELECT f.* FROM (
        SELECT m.dataset, m.hole, m.object, m.remedy
          FROM dp.check_memberships AS m WHERE m.role = $1
        UNION
        SELECT o.dataset, o.hole, o.object, o.remedy FROM dp.check_owners AS o WHERE o.role = $1
        UNION
        SELECT g.dataset, g.hole, g.object, g.remedy FROM dp.check_grants AS g WHERE g.role = $1
    ) AS f
     ORDER BY f.dataset, f.hole COLLATE "C", f.object COLLATE "C", f.remedy COLLATE "C";
END $$;
COMMENT ON FUNCTION @extschema@.dp_check_privileges(regrole) IS
    'by which privileges a role could learn about private rows, and how to take them away';
