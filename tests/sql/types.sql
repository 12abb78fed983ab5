-- coco and dp_coco: text, binary and jsonb forms.
SELECT '{1:2, 2:1, 4:1}'::coco, ' { 4:1,1 : 2, 1:1, 9:0 } '::coco AS any_order, '{}'::dp_coco;
SELECT '{1:2, 10:1}'::coco::jsonb, '{1:2, 10:1}'::dp_coco::jsonb;
-- byte for byte what PostgreSQL makes of the same text
SELECT n, record_image_eq(ROW(h::jsonb), ROW(regexp_replace(h::text, '(\d+):', '"\1":', 'g')::jsonb)) AS same
  FROM (VALUES (0), (1), (15), (16), (17), (32), (33), (20000)) AS numbers(n),
       LATERAL (SELECT coalesce(coco_agg(h), '{}') AS h
                  FROM (SELECT format('{%s:%s}', s * s * 7 % 1000003, s * s * s * 997)::coco AS h FROM generate_series(1::bigint, n) AS s) AS one) AS x;
SELECT '{0:1, 9223372036854775807:9223372036854775806}'::coco::jsonb AS largest,
       record_image_eq(ROW('{0:1, 9223372036854775807:9223372036854775806}'::coco::jsonb), ROW('{"0":1, "9223372036854775807":9223372036854775806}'::jsonb)) AS same;

-- through a table, a toasted value and the binary protocol
CREATE TABLE stored (h coco, d dp_coco);
INSERT INTO stored SELECT coco_agg(s * s), '{3:9223372036854775807}' FROM generate_series(1, 5000) AS s;
INSERT INTO stored VALUES (NULL, NULL), ('{}', '{}');
CREATE TABLE copied (LIKE stored);
\copy stored TO PROGRAM 'cat > /tmp/pg_dp_types.bin' (FORMAT binary)
\copy copied FROM PROGRAM 'cat /tmp/pg_dp_types.bin; rm /tmp/pg_dp_types.bin' (FORMAT binary)
SELECT count(*) AS rows, count(*) FILTER (WHERE s.h::text = c.h::text AND s.d::text = c.d::text) AS equal
  FROM stored AS s JOIN copied AS c ON s.h::text IS NOT DISTINCT FROM c.h::text;

-- what is no histogram
SELECT e.* FROM (VALUES ('1:2'), ('{1}'), ('{-1:2}'), ('{1:x}'), ('{1:9223372036854775808}'),
                        ('{1:9223372036854775807, 2:1}')) AS bad(input),
       error_of(format('SELECT %L::coco', input)) AS e;
SELECT * FROM error_of($$SELECT '{1:-2}'::dp_coco$$);

-- an exact histogram never turns into a released one
SELECT * FROM error_of($$SELECT '{1:2}'::coco::dp_coco$$);
SELECT * FROM error_of($$SELECT dp_groups('{1:2}'::coco)$$);

-- every object that users see says what it is
SELECT pg_describe_object(classid, objid, objsubid) AS without_comment
  FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pg_dp'
 WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
   AND d.classid NOT IN ('pg_type'::regclass)
   AND obj_description(objid, classid::regclass::name) IS NULL
   AND pg_describe_object(classid, objid, objsubid) NOT LIKE 'sequence%';
-- in one sentence, which fits on a line
SELECT pg_describe_object(c.classoid, c.objoid, c.objsubid) AS more_than_a_sentence
  FROM pg_description AS c
  JOIN pg_depend AS d ON (d.classid, d.objid) = (c.classoid, c.objoid) AND d.deptype = 'e'
  JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'pg_dp'
 WHERE d.refclassid = 'pg_extension'::regclass
   AND (c.description ~ '[.;] |[.;]$' OR length(c.description) > 100);
