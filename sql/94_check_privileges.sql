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
           CASE WHEN o.further LIKE '-- %' THEN o.further -- no statement closes it
           ELSE pg_catalog.format(
                    CASE WHEN g.grantor = o.owner THEN '%2$s'
                         ELSE 'SET ROLE %1$s; %2$s; RESET ROLE' END,
                    g.grantor::regrole,
                    pg_catalog.format(
                        'REVOKE %s%s ON %s FROM %s%s', g.privilege_type, o.columns, o.target,
                        h.name, CASE WHEN g.is_grantable THEN ' CASCADE' END))
                || pg_catalog.format(o.further, h.name)
           END
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
