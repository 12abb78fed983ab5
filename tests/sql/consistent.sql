-- dp_hierarchy_consistent: anyone's noisy table, post-processed.

-- the worked examples of Fioretto, Van Hentenryck, Zhu (2020): tables 5 and 6
CREATE TABLE us (path text[], size bigint, groups numeric);
INSERT INTO us VALUES ('{}', 1, 2), ('{GA}', 1, 3), ('{NY}', 1, 0);
SELECT * FROM dp_hierarchy_consistent('us', 'pgsr') ORDER BY path;
-- as running totals they are 3, 3 and 2, and the nearest consistent ones 3, 3 and 3
SELECT * FROM dp_hierarchy_consistent('us', 'chain') ORDER BY path;

-- its rows, wherever a table may be returned
BEGIN;
DECLARE shown SCROLL CURSOR FOR SELECT * FROM dp_hierarchy_consistent('us', 'pgsr');
FETCH 2 FROM shown;
FETCH BACKWARD 1 FROM shown;
COMMIT;
SELECT dp_hierarchy_consistent('us', 'chain'), generate_series(1, 4) LIMIT 4;
SELECT * FROM ROWS FROM (dp_hierarchy_consistent('us', 'pgsr'), generate_series(1, 4)) WITH ORDINALITY;
SELECT method, rows.* FROM unnest('{pgsr,chain}'::text[]) AS method, dp_hierarchy_consistent('us', method) AS rows;
CREATE TABLE nobody (LIKE us);
SELECT count(*) FROM dp_hierarchy_consistent('nobody', 'pgsr');
SELECT dp_hierarchy_consistent('nobody', 'pgsr');
DO $$
BEGIN
    PERFORM * FROM dp_hierarchy_consistent('us', 'nothing');
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE NOTICE '% rows after an error', (SELECT count(*) FROM dp_hierarchy_consistent('us', 'pgsr'));
END $$;

-- every method; without totals, with the root's, with every region's
CREATE TABLE census (path text[], size int, groups float8, variance real);
INSERT INTO census VALUES
    ('{}', 1, 61.5, 2), ('{}', 2, 28.25, 2), ('{}', 3, -1, 2), ('{}', 7, 2.5, 2),
    ('{A}', 1, 40, 8), ('{A}', 2, 12, 8), ('{A}', 3, 3, 8),
    ('{B}', 1, 17, 8), ('{B}', 2, 20.75, 8), ('{B}', 7, 0.5, 8),
    ('{C}', 1, 0, 8), ('{C}', 3, -6, 8);
CREATE VIEW unweighted AS SELECT path, size, groups::numeric FROM census;
CREATE TABLE totals (path text[], groups bigint);
INSERT INTO totals VALUES ('{}', 90), ('{A}', 54), ('{B}', 36), ('{C}', 0);
CREATE VIEW root_total AS SELECT * FROM totals WHERE path = '{}';
CREATE FUNCTION summary(source regclass, method text, totals regclass)
RETURNS TABLE (region text, histogram text) LANGUAGE sql AS $$
    SELECT path::text, string_agg(size || ':' || groups, ', ' ORDER BY size)
      FROM dp_hierarchy_consistent(source, method, totals) GROUP BY path ORDER BY path
$$;
SELECT method, source, s.*
  FROM unnest('{matching,matching_unweighted,bottom_up,pgsr,topdown,cumulative,chain}'::text[]) AS method,
       unnest('{census,unweighted}'::regclass[]) AS source, summary(source, method, 'root_total') AS s;
SELECT method, s.* FROM unnest('{matching,bottom_up,cumulative}'::text[]) AS method, summary('census', method, 'totals') AS s;
SELECT method, s.* FROM unnest('{matching,pgsr,topdown,cumulative,chain}'::text[]) AS method, summary('census', method, NULL) AS s;
-- a region of which only the total is known
INSERT INTO totals VALUES ('{D}', 0);
SELECT path, sum(groups) FROM dp_hierarchy_consistent('census', 'matching', 'totals') GROUP BY path ORDER BY path;
DELETE FROM totals WHERE path = '{D}';

-- what is consistent already stays, whatever the number type
CREATE TABLE exact AS
    SELECT path, size, groups::int FROM dp_hierarchy_consistent('census', 'pgsr', 'root_total');
CREATE TABLE changed (method text, type regtype, cells bigint);
DO $$
DECLARE
    type regtype;
BEGIN
    FOREACH type IN ARRAY '{smallint,int,bigint,numeric,real,float8}'::regtype[] LOOP
        EXECUTE format('ALTER TABLE exact ALTER groups TYPE %s', type);
        INSERT INTO changed
            SELECT m, type, (SELECT count(*) FROM dp_hierarchy_consistent('exact', m) AS c FULL JOIN exact AS e USING (path, size)
                              WHERE e.groups IS DISTINCT FROM c.groups)
              FROM unnest('{matching,matching_unweighted,bottom_up,pgsr,topdown,cumulative,chain}'::text[]) AS m;
    END LOOP;
END $$;
SELECT count(*) AS tried, sum(cells) AS changed FROM changed;

-- an empty table, a root alone, sizes far apart
CREATE TABLE empty (path text[], size bigint, groups bigint);
SELECT count(*) FROM dp_hierarchy_consistent('empty');
SELECT count(*) FROM dp_hierarchy_consistent('empty', 'pgsr', 'totals');
CREATE TABLE alone (path text[], size bigint, groups float8);
INSERT INTO alone VALUES ('{}', 0, 2.4), ('{}', 9007199254740991, 0.8), ('{}', 5, -3);
SELECT method, c.* FROM unnest('{matching,bottom_up,pgsr,topdown,cumulative,chain}'::text[]) AS method, dp_hierarchy_consistent('alone', method) AS c;

-- random trees: no violation by any method
CREATE TABLE outcome (method text, totals text, violations bigint, rows bigint);
DO $$
DECLARE
    method text;
    known text;
BEGIN
    PERFORM setseed(0.5);
    FOR trial IN 1..40 LOOP
        CREATE TABLE leaf AS
            SELECT DISTINCT (ARRAY[floor(random() * 3), floor(random() * 3), floor(random() * 3)])[1:trial % 4]::text[] AS path
              FROM generate_series(1, 8);
        CREATE TABLE cell AS
            SELECT l.path, s AS size, floor(exp(4 * random() - s / 2.0)) AS groups FROM leaf AS l, generate_series(0, 6) AS s;
        CREATE TABLE truth AS
            SELECT path[1:level] AS path, size, sum(groups) AS groups
              FROM cell, generate_series(0, trial % 4) AS level GROUP BY 1, 2;
        CREATE TABLE measured AS
            SELECT path, size, groups + 10 * (random() - 0.5) AS groups, 1 + cardinality(path) AS variance
              FROM truth WHERE random() < 0.9 OR size = 0;
        CREATE TABLE every_total AS SELECT path, sum(groups) AS groups FROM truth GROUP BY path;
        CREATE VIEW the_total AS SELECT * FROM every_total WHERE path = '{}';
        FOREACH method IN ARRAY '{matching,matching_unweighted,bottom_up,pgsr,topdown,cumulative,chain}'::text[] LOOP
            FOREACH known IN ARRAY '{every_total,the_total,NULL}'::text[] LOOP
                CREATE TABLE fit AS SELECT * FROM dp_hierarchy_consistent('measured', method, known::regclass);
                INSERT INTO outcome SELECT method, known, (
                    SELECT count(*) FROM fit WHERE groups <= 0 OR level <> cardinality(path)
                ) + (
                    SELECT count(*) FROM (SELECT path, size, groups FROM fit WHERE level < trial % 4) AS parent
                      FULL JOIN (SELECT path[1:level - 1] AS path, size, sum(groups) AS groups
                                   FROM fit WHERE level > 0 GROUP BY 1, 2) AS children USING (path, size)
                     WHERE parent.groups IS DISTINCT FROM children.groups
                ) + (
                    SELECT count(*) FROM every_total AS t LEFT JOIN (SELECT path, sum(groups) AS groups FROM fit GROUP BY path) AS f USING (path)
                     WHERE t.groups <> coalesce(f.groups, 0) AND known IS NOT NULL AND (path = '{}' OR
                           (known = 'every_total' AND method IN ('matching', 'matching_unweighted', 'bottom_up', 'cumulative')))
                ), (SELECT count(*) FROM fit);
                DROP TABLE fit;
            END LOOP;
        END LOOP;
        DROP VIEW the_total;
        DROP TABLE leaf, cell, truth, measured, every_total;
    END LOOP;
END $$;
SELECT method, totals, count(*) AS trees, sum(violations) AS violations, min(rows) > 0 AS rows
  FROM outcome GROUP BY 1, 2 ORDER BY 1, 2;

-- bad input: an error that names the path
CREATE FUNCTION error_with(statement text, call text DEFAULT $$SELECT * FROM dp_hierarchy_consistent('census', 'pgsr', 'totals')$$)
RETURNS TABLE (code text, message text, hint text) LANGUAGE plpgsql AS $$
DECLARE
    found record;
BEGIN
    BEGIN
        EXECUTE statement;
        SELECT e.* INTO found FROM error_of(call) AS e;
        RAISE 'undo' USING ERRCODE = 'TT001';
    EXCEPTION WHEN SQLSTATE 'TT001' THEN NULL;
    END;
    RETURN QUERY SELECT found.code, found.message, found.hint;
END $$;
\pset format unaligned
SELECT e.* FROM (VALUES
    ($$INSERT INTO census VALUES ('{A,x}', 1, 1, 1)$$),
    ($$INSERT INTO census VALUES ('{E,x}', 1, 1, 1), ('{A,x}', 1, 1, 1)$$),
    ($$INSERT INTO census VALUES ('{A}', 1, 1, 1)$$),
    ($$UPDATE census SET groups = 'NaN' WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET groups = 'Infinity' WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET groups = 1e300 WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET groups = NULL WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET size = -2 WHERE path = '{B}' AND size = 2$$),
    ($$DROP VIEW unweighted; ALTER TABLE census ALTER size TYPE numeric; UPDATE census SET size = 1.5 WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET size = NULL WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET variance = 0 WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET variance = -1 WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET variance = 'NaN' WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET variance = NULL WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET path = NULL WHERE path = '{B}'$$),
    ($$UPDATE census SET path = '{{A,x}}' WHERE path = '{B}'$$),
    ($$INSERT INTO census VALUES ('[0:0]={B}', 2, 1, 1)$$),
    ($$DROP VIEW unweighted; ALTER TABLE census ALTER groups TYPE numeric; UPDATE census SET groups = 1e400 WHERE path = '{B}' AND size = 2$$),
    ($$DROP VIEW unweighted; ALTER TABLE census ALTER groups TYPE money USING 1::money$$),
    ($$DROP VIEW unweighted; ALTER TABLE census ALTER size TYPE bigint; UPDATE census SET size = 9007199254740992 WHERE path = '{B}' AND size = 2$$),
    ($$UPDATE census SET groups = 4e17$$),
    ($$DELETE FROM totals$$),
    ($$UPDATE census SET path = '{NULL}' WHERE path = '{B}'$$),
    ($$DELETE FROM census WHERE path = '{}'; DELETE FROM totals$$),
    ($$DROP VIEW unweighted; ALTER TABLE census DROP size$$),
    ($$DROP VIEW unweighted; ALTER TABLE census ALTER groups TYPE text$$),
    ($$DROP VIEW unweighted; ALTER TABLE census ALTER variance TYPE text$$),
    ($$UPDATE totals SET groups = 55 WHERE path = '{A}'$$),
    ($$UPDATE totals SET groups = -1 WHERE path = '{A}'$$),
    ($$DROP VIEW root_total; ALTER TABLE totals ALTER groups TYPE numeric; UPDATE totals SET groups = 53.5 WHERE path = '{A}'$$),
    ($$DELETE FROM totals WHERE path = '{A}'$$),
    ($$DELETE FROM totals WHERE path <> '{A}'$$),
    ($$INSERT INTO totals VALUES ('{A}', 54)$$),
    ($$INSERT INTO totals VALUES ('{E,x}', 0)$$)) AS change(statement), error_with(statement) AS e;
SELECT e.* FROM (VALUES
    ($$SELECT * FROM dp_hierarchy_consistent('census', 'none')$$),
    ($$SELECT * FROM dp_hierarchy_consistent('census', 'nearest')$$),
    ($$SELECT * FROM dp_hierarchy_consistent('census', NULL)$$),
    ($$SELECT * FROM dp_hierarchy_consistent(NULL, 'pgsr')$$),
    ($$SELECT * FROM dp_hierarchy_consistent('nowhere', 'pgsr')$$),
    ($$SELECT * FROM dp_hierarchy_consistent('pg_class', 'pgsr')$$)) AS call(statement), error_of(statement) AS e;

-- variances beyond all reason are as good as 10^30 times that of the most certain number
CREATE TABLE wild (path text[], size int, groups float8, variance float8);
INSERT INTO wild VALUES ('{}', 1, 663097252474556, 1e-100), ('{0}', 1, -965121439204220, 1), ('{0,2}', 1, 135500410857826, 1e-100),
    ('{0,2,0}', 1, 811365154110950, 1e100), ('{0,2,1}', 1, -833366658059275, 1e-100), ('{0,2,2}', 1, -955147511251851, 1e-100);
SELECT method, count(*) FROM unnest('{matching,pgsr,topdown,cumulative,chain}'::text[]) AS method, dp_hierarchy_consistent('wild', method)
 GROUP BY method ORDER BY method;

-- a view is read with the caller's search_path, as by the caller
CREATE SCHEMA app;
SET search_path = app, public;
CREATE TABLE app.t (path text[], size int, groups int);
INSERT INTO t VALUES ('{}', 1, 3);
CREATE FUNCTION app.f() RETURNS SETOF t LANGUAGE plpgsql STABLE AS 'BEGIN RETURN QUERY SELECT * FROM t; END';
CREATE VIEW app.v AS SELECT * FROM f();
SELECT * FROM dp_hierarchy_consistent('v', 'pgsr');
RESET search_path;

-- with the caller's rights
CREATE ROLE dp_test_reader;
SET ROLE dp_test_reader;
SELECT code, message FROM error_of($$SELECT * FROM dp_hierarchy_consistent('census')$$);
RESET ROLE;
GRANT SELECT ON census TO dp_test_reader;
SET ROLE dp_test_reader;
SELECT count(*) > 0 AS answered FROM dp_hierarchy_consistent('census');
SELECT code, message FROM error_of($$SELECT * FROM dp_hierarchy_consistent('census', totals => 'totals')$$);
RESET ROLE;
DROP OWNED BY dp_test_reader;
DROP ROLE dp_test_reader;
