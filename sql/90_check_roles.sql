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
    SELECT d.name AS dataset, d.owner, d.entities,
           -- the public table, and then that of private groups
           CASE WHEN d.groups_per_unit IS NULL THEN d.groups ELSE d.regions END AS groups, d.leaves,
           CASE WHEN d.groups_per_unit IS NOT NULL THEN d.groups END AS private_groups
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


