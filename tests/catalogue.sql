-- All that the extension has in this database: a line for each property of each of its objects, with the object as
-- "kind name", tabs between the three, and \n for the ends of lines within a value. For tests/workflows/upgrade.
-- It depends on no number, and on no order of creation but that of columns.
SET search_path = pg_catalog;
SET client_min_messages = warning;

-- who may do what, in words; NULL stands for what is so without a grant
CREATE FUNCTION pg_temp.acl(acl aclitem[], kind "char", owner oid) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('%s %s%s', CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, a.privilege_type,
                             CASE WHEN a.is_grantable THEN ' with grant option' END), ', '
                      ORDER BY a.grantee::regrole::text, a.privilege_type)
      FROM aclexplode(coalesce(acl, acldefault(kind, owner))) AS a
$$;

CREATE TEMP VIEW member AS
SELECT e.classid, e.objid, i.type, i.identity
  FROM pg_depend AS e
  JOIN pg_extension AS x ON e.refclassid = 'pg_extension'::regclass AND e.refobjid = x.oid
 CROSS JOIN LATERAL pg_identify_object(e.classid, e.objid, 0) AS i
 WHERE x.extname = 'pg_dp' AND e.deptype = 'e';

CREATE TEMP VIEW relation AS
SELECT m.type, m.identity, c.*
  FROM member AS m JOIN pg_class AS c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid;

CREATE TEMP VIEW property (object, name, value) AS
SELECT type || ' ' || identity, 'is of the extension', 'yes' FROM member
UNION ALL
SELECT m.type || ' ' || m.identity, concat_ws(' ', 'comment', 'on column ' || a.attname), d.description
  FROM member AS m
  JOIN pg_description AS d ON d.classoid = m.classid AND d.objoid = m.objid
  LEFT JOIN pg_attribute AS a ON d.objsubid > 0 AND a.attrelid = d.objoid AND a.attnum = d.objsubid
UNION ALL -- what pg_dump takes for granted
SELECT m.type || ' ' || m.identity, concat_ws(' ', 'initial privileges', 'of column ' || a.attname), pg_temp.acl(p.initprivs, 'r', 10)
  FROM member AS m
  JOIN pg_init_privs AS p ON p.classoid = m.classid AND p.objoid = m.objid
  LEFT JOIN pg_attribute AS a ON p.objsubid > 0 AND a.attrelid = p.objoid AND a.attnum = p.objsubid
UNION ALL
SELECT m.type || ' ' || m.identity, p.name, p.value
  FROM member AS m JOIN pg_proc AS f ON m.classid = 'pg_proc'::regclass AND f.oid = m.objid
  LEFT JOIN pg_aggregate AS a ON a.aggfnoid = f.oid
 CROSS JOIN LATERAL (VALUES
    ('definition', CASE WHEN f.prokind <> 'a' THEN pg_get_functiondef(f.oid) END),
    ('aggregate', CASE WHEN f.prokind = 'a' THEN concat_ws(' ', pg_get_function_result(f.oid), pg_get_function_arguments(f.oid),
        a.aggkind, a.aggnumdirectargs, a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn,
        a.aggminvtransfn, a.aggmfinalfn, a.aggfinalextra, a.aggmfinalextra, a.aggfinalmodify, a.aggmfinalmodify, a.aggsortop::regoperator,
        a.aggtranstype::regtype, a.aggtransspace, a.aggmtranstype::regtype, a.aggmtransspace, coalesce(a.agginitval, 'NULL'),
        coalesce(a.aggminitval, 'NULL'), f.prosecdef, f.proleakproof, f.proisstrict, f.provolatile, f.proparallel, f.procost, f.proconfig) END),
    ('owner', f.proowner::regrole::text),
    ('privileges', pg_temp.acl(f.proacl, 'f', f.proowner))) AS p (name, value)
UNION ALL
SELECT m.type || ' ' || m.identity, p.name, p.value
  FROM member AS m JOIN pg_type AS t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
 CROSS JOIN LATERAL (VALUES
    ('type', concat_ws(' ', t.typlen, t.typbyval, t.typtype, t.typcategory, t.typispreferred, t.typisdefined, t.typdelim, t.typsubscript,
        t.typelem::regtype, t.typinput, t.typoutput, t.typreceive, t.typsend, t.typmodin, t.typmodout, t.typanalyze, t.typalign, t.typstorage,
        t.typnotnull, t.typbasetype::regtype, t.typtypmod, t.typndims, t.typcollation::regcollation, coalesce(t.typdefault, 'NULL'))),
    ('owner', t.typowner::regrole::text),
    ('privileges', pg_temp.acl(t.typacl, 'T', t.typowner))) AS p (name, value)
UNION ALL
SELECT m.type || ' ' || m.identity, 'cast', concat_ws(' ', nullif(c.castfunc, 0)::regprocedure::text, c.castcontext, c.castmethod)
  FROM member AS m JOIN pg_cast AS c ON m.classid = 'pg_cast'::regclass AND c.oid = m.objid
UNION ALL
SELECT m.type || ' ' || m.identity, 'operator', concat_ws(' ', o.oprcode, o.oprresult::regtype, o.oprcom::regoperator, o.oprnegate::regoperator,
        o.oprcanmerge, o.oprcanhash, o.oprrest, o.oprjoin, o.oprowner::regrole)
  FROM member AS m JOIN pg_operator AS o ON m.classid = 'pg_operator'::regclass AND o.oid = m.objid
UNION ALL
SELECT m.type || ' ' || m.identity, p.name, p.value
  FROM member AS m JOIN pg_namespace AS n ON m.classid = 'pg_namespace'::regclass AND n.oid = m.objid
 CROSS JOIN LATERAL (VALUES ('owner', n.nspowner::regrole::text), ('privileges', pg_temp.acl(n.nspacl, 'n', n.nspowner))) AS p (name, value)
UNION ALL
SELECT r.type || ' ' || r.identity, p.name, p.value
  FROM relation AS r LEFT JOIN pg_sequence AS s ON s.seqrelid = r.oid
 CROSS JOIN LATERAL (VALUES
    ('query', CASE WHEN r.relkind = 'v' THEN pg_get_viewdef(r.oid) END),
    ('sequence', s.seqtypid::regtype || concat_ws(' ', '', s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle)),
    ('relation', concat_ws(' ', r.relkind, r.relpersistence, r.relreplident, r.relispartition, r.relrowsecurity, r.relforcerowsecurity, r.reloptions)),
    ('is dumped', (SELECT 'where ' || coalesce(nullif(d.condition, ''), 'true')
                     FROM pg_extension AS x, unnest(x.extconfig, x.extcondition) AS d (oid, condition)
                    WHERE x.extname = 'pg_dp' AND d.oid = r.oid)),
    ('owner', r.relowner::regrole::text),
    ('privileges', pg_temp.acl(r.relacl, CASE r.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", r.relowner))) AS p (name, value)
UNION ALL
SELECT r.type || ' ' || r.identity, 'column ' || a.attname,
       concat_ws(' ', 'number', row_number() OVER (PARTITION BY r.oid ORDER BY a.attnum), format_type(a.atttypid, a.atttypmod),
                 CASE WHEN a.attnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), 'GENERATED ' || nullif(a.attgenerated::text, ''),
                 'IDENTITY ' || nullif(a.attidentity::text, ''), 'storage', a.attstorage, nullif(a.attcompression::text, ''),
                 'COLLATE ' || nullif(a.attcollation, 0)::regcollation::text, 
                 (SELECT string_agg(o, ' ') FROM unnest(a.attoptions) AS o WHERE o NOT LIKE 'pg_attver=%'), -- which is the server's own
                 'privileges ' || pg_temp.acl(a.attacl, 'c', r.relowner))
  FROM relation AS r JOIN pg_attribute AS a ON a.attrelid = r.oid
  LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
 WHERE a.attnum > 0 AND NOT a.attisdropped AND r.relkind <> 'S'
UNION ALL
SELECT r.type || ' ' || r.identity, 'constraint ' || c.conname,
       concat_ws(' ', pg_get_constraintdef(c.oid), CASE WHEN NOT c.convalidated THEN 'not validated' END)
  FROM relation AS r JOIN pg_constraint AS c ON c.conrelid = r.oid
UNION ALL
SELECT r.type || ' ' || r.identity, 'index ' || i.indexrelid::regclass,
       concat_ws(' ', pg_get_indexdef(i.indexrelid), CASE WHEN i.indisreplident THEN 'is the replica identity' END)
  FROM relation AS r JOIN pg_index AS i ON i.indrelid = r.oid
UNION ALL
SELECT r.type || ' ' || r.identity, 'trigger ' || t.tgname, concat_ws(' ', pg_get_triggerdef(t.oid), 'enabled', t.tgenabled)
  FROM relation AS r JOIN pg_trigger AS t ON t.tgrelid = r.oid
 WHERE NOT t.tgisinternal
UNION ALL
SELECT r.type || ' ' || r.identity, 'rule ' || w.rulename, pg_get_ruledef(w.oid)
  FROM relation AS r JOIN pg_rewrite AS w ON w.ev_class = r.oid
 WHERE w.rulename <> '_RETURN'
UNION ALL
SELECT 'extension pg_dp', p.name, p.value
  FROM pg_extension AS x
 CROSS JOIN LATERAL (VALUES ('version', x.extversion), ('schema', x.extnamespace::regnamespace::text), ('owner', x.extowner::regrole::text),
    ('relocatable', x.extrelocatable::text), ('comment', obj_description(x.oid, 'pg_extension'))) AS p (name, value)
 WHERE x.extname = 'pg_dp';

SELECT object || E'\t' || name || E'\t' || replace(replace(value, E'\t', '    '), E'\n', '\n')
  FROM property
 WHERE value IS NOT NULL
 ORDER BY object COLLATE "C", name COLLATE "C", value COLLATE "C";
