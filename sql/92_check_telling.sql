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
    SELECT NULL,
           CASE WHEN s.part < 4 THEN 'the exact counts of streams'
                ELSE 'a relation that reads the exact counts of streams' END,
           s.relid, ARRAY['SELECT'], c.relkind <> 'v'
      FROM dp.private_relations('dp.stream_count'::regclass, NULL) AS s
      JOIN pg_catalog.pg_class AS c ON c.oid = s.relid
     WHERE c.oid NOT IN (SELECT i.oid FROM dp.check_invoker_views AS i)
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
    SELECT DISTINCT
           d.dataset, 'a SECURITY DEFINER function whose owner may read the private table', p.oid
      FROM dp.check_private AS d
      JOIN pg_catalog.pg_proc AS p
           ON d.part < 4 AND pg_catalog.has_any_column_privilege(p.proowner, d.relid, 'SELECT')
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


