-- Leaves that are counted by SQL are those that releases count, whatever the tables hold; and releases read a table of them
-- where they do not read the others. The noise of epsilon = 1e6 is 0.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE household (household int, state text NOT NULL, county numeric NOT NULL, code numeric);
INSERT INTO household
SELECT i, 'state ' || i % 2, CASE WHEN i % 3 = 0 THEN 1.0 ELSE 1.00 END, i / 2.0 FROM generate_series(1, 40) AS i;
INSERT INTO household VALUES (NULL, 'of no household', 7, NULL);
CREATE TABLE person AS
SELECT nullif(k, 0) AS household, nullif('state ' || k % 2, 'state ' || i % 13) AS state,
       CASE WHEN k % 3 = 0 THEN 1.0 ELSE 1.00 END AS county, (k / 2.0) * 1.00 AS code, i % 25 AS patient,
       nullif(i % 7 - 2, 3) AS size, i AS id
  FROM generate_series(1, 300) AS i, LATERAL (SELECT i * i % 53) AS of (k);
CREATE TABLE shops AS
SELECT 'state ' || i % 3 AS state, coco_agg(i % 5) AS shops FROM generate_series(1, 50) AS i GROUP BY i % 3, i % 2;
INSERT INTO shops VALUES ('state 0', NULL), (NULL, '{5:1}');
-- the same rows, where no release reads them; one table for each dataset's leaves
CREATE VIEW household_view AS TABLE household;
SET test.removed = 0; -- the row that a neighbour has not, or has one smaller
SET test.smaller = 0;
CREATE VIEW person_view AS
SELECT household, state, county, code, patient, size - (id = current_setting('test.smaller')::int)::int AS size
  FROM person WHERE id <> current_setting('test.removed')::int;
CREATE VIEW shops_view AS TABLE shops;

CREATE TABLE kind (name text PRIMARY KEY, entities text, key text[], hierarchy text[], groups text, size text);
INSERT INTO kind VALUES
    ('groups that occur', 'person', '{state,household}', '{state}', NULL, NULL),
    ('regions that print differently', 'person', '{county,state,household}', '{state,county}', NULL, NULL),
    ('a table of groups', 'person', '{household}', '{state,county}', 'household', NULL),
    ('keys that print differently', 'person', '{code}', '{state,county}', 'household', NULL),
    ('numbers of entities', 'person', '{household}', '{state}', 'household', 'size'),
    ('sizes', 'person', '{}', '{state,county}', NULL, 'size'),
    ('histograms', 'shops', '{}', '{state}', NULL, 'shops'),
    ('no regions', 'person', '{household}', '{}', NULL, NULL),
    ('no regions, a table of groups', 'person', '{household}', '{}', 'household', NULL);
SELECT count(dp_create_dataset(name, entities::regclass, key, hierarchy, groups::regclass, size, epsilon_budget => 1e9)) FROM kind;

DO $$
DECLARE
    k kind;
BEGIN
    FOR k IN TABLE kind LOOP
        EXECUTE format('CREATE TABLE %I (%s h coco)', 'leaves of ' || k.name,
                       (SELECT string_agg(c || ' text, ', '') FROM unnest(k.hierarchy) AS c));
        PERFORM dp_create_dataset('counted ' || k.name, (k.entities || '_view')::regclass, k.key, k.hierarchy,
                                  (k.groups || '_view')::regclass, k.size, epsilon_budget => 1e9,
                                  leaves => quote_ident('leaves of ' || k.name)::regclass);
        EXECUTE format('CALL dp_count_leaves(%L)', 'counted ' || k.name);
        EXECUTE format('CALL dp_count_leaves(%L)', 'counted ' || k.name); -- once more is the same
    END LOOP;
END $$;

-- In how many rows the histograms differ that a query counts, that a release counts and that a release reads.
CREATE FUNCTION differences(k kind) RETURNS TABLE (rows bigint, of_query bigint, of_table bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('
        WITH released AS (SELECT path, size, groups FROM dp_hierarchy_release(%1$L, 1e6) WHERE level = %2$s),
        queried AS (
            SELECT ARRAY[%3$s]::text[] AS path, u.size, sum(u.groups)::bigint AS groups
              FROM (%4$s) AS q CROSS JOIN LATERAL dp_unnest(q.h::text::dp_coco) AS u GROUP BY 1, 2),
        counted AS (SELECT path, size, groups FROM dp_hierarchy_release(%5$L, 1e6) WHERE level = %2$s)
        SELECT (SELECT count(*) FROM released),
               (SELECT count(*) FROM ((TABLE queried EXCEPT TABLE released) UNION ALL (TABLE released EXCEPT TABLE queried)) AS d),
               (SELECT count(*) FROM ((TABLE counted EXCEPT TABLE released) UNION ALL (TABLE released EXCEPT TABLE counted)) AS d)',
        k.name, cardinality(k.hierarchy),
        (SELECT coalesce(string_agg('q.' || c, ', '), '') FROM unnest(k.hierarchy) AS c), dp_leaf_query(k.name), 'counted ' || k.name);
END $$;
SELECT name, d.* FROM kind, differences(kind) AS d;

-- Neighbours, replayed one by one: without a row, or with one smaller size, one group is smaller by one, or is not there.
CREATE FUNCTION leaves_of(dataset text, hierarchy text[]) RETURNS TABLE (path text[], size bigint, groups bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT ARRAY[%s]::text[], u.size, u.groups FROM (%s) AS q, dp_unnest(q.h::text::dp_coco) AS u',
                                (SELECT coalesce(string_agg('q.' || c, ', '), '') FROM unnest(hierarchy) AS c), dp_leaf_query(dataset));
END $$;
CREATE FUNCTION neighbours(k kind, OUT tried bigint, OUT differ bigint, OUT most_groups bigint, OUT most_entities bigint) LANGUAGE plpgsql AS $$
DECLARE
    changed text := CASE WHEN k.size IS NULL THEN 'test.removed' ELSE 'test.smaller' END;
    of_groups bigint;
    of_entities bigint;
BEGIN
    CREATE TEMP TABLE whole AS SELECT * FROM leaves_of('counted ' || k.name, k.hierarchy);
    SELECT 0, 0, 0, 0 INTO tried, differ, most_groups, most_entities;
    FOR id IN 1..300 LOOP
        PERFORM set_config(changed, id::text, false);
        SELECT coalesce(sum(abs(d)), 0), coalesce(sum(abs(e)), 0) INTO of_groups, of_entities
          FROM (SELECT path, sum(abs(coalesce(w.groups, 0) - coalesce(n.groups, 0))) AS d,
                       sum(size * (coalesce(w.groups, 0) - coalesce(n.groups, 0))) AS e
                  FROM whole AS w FULL JOIN leaves_of('counted ' || k.name, k.hierarchy) AS n USING (path, size) GROUP BY path) AS regions;
        tried := tried + 1;
        differ := differ + (of_groups > 0)::int;
        most_groups := greatest(most_groups, of_groups);
        most_entities := greatest(most_entities, of_entities);
    END LOOP;
    PERFORM set_config(changed, '0', false);
    DROP TABLE whole;
END $$;
SELECT name, n.* FROM kind, neighbours(kind) AS n WHERE entities = 'person';

-- Where partial states travel as text, between servers, they arrive as they were.
SELECT coco_agg(h::text::coco)::text = coco_agg(h)::text AS histograms FROM "leaves of a table of groups";
SELECT bins_agg(part::text::bins)::text = bins_agg(part)::text AS bins
  FROM (SELECT bins_agg(id, 0, 400) AS part FROM person GROUP BY id % 7) AS parts;

-- A region that has no group is one, whoever counts.
CREATE TABLE empty_region AS
SELECT (SELECT regions FROM dp_explain_hierarchy('a table of groups', 1, simulations => 2) WHERE level = 2 LIMIT 1) AS of_groups,
       (SELECT count(*) FROM "leaves of a table of groups") AS counted;
SELECT of_groups = counted AS as_many, (SELECT h FROM "leaves of a table of groups" WHERE state = 'of no household') FROM empty_region;

-- The bound on a unit's rows is kept: 25 patients with 12 rows each, most in a household that is there.
CREATE TABLE bounded (state text, h coco);
SELECT dp_create_dataset('bounded', 'person_view', '{household}', '{state}', 'household_view', epsilon_budget => 1e9,
                         privacy_unit => 'patient', max_rows_per_unit => 3, leaves => 'bounded');
CALL dp_count_leaves('bounded');
SELECT sum(dp_entities(h::text::dp_coco)) BETWEEN 1 AND 75 AS at_most_three_each FROM bounded;
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('bounded', 1);
SELECT parameters -> 'levels' -> 0 ->> 'sensitivity' AS sensitivity FROM dp.ledger WHERE dataset = 'bounded';
-- Histograms that were counted elsewhere say whose rows they bound.
SELECT dp_create_dataset('brought', 'bounded', '{}', '{state}', size_column => 'h', epsilon_budget => 1e9,
                         privacy_unit => 'patient', max_rows_per_unit => 3);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('brought', 1);
SELECT parameters -> 'levels' -> 0 ->> 'sensitivity' AS sensitivity FROM dp.ledger WHERE dataset = 'brought';
SELECT name, leaves, counted_at IS NOT NULL AS is_counted, shares_rows_with @> '{brought}' AS shares
  FROM dp.datasets WHERE name IN ('bounded', 'brought');

-- A row whose region is too long for a name counts nowhere, and fails no count.
CREATE TABLE long AS SELECT i AS k, CASE WHEN i = 3 THEN 1e131071 ELSE i END AS region FROM generate_series(1, 3) AS i;
CREATE VIEW long_view AS TABLE long;
CREATE TABLE long_leaves (region text, h coco);
SELECT dp_create_dataset('long', 'long_view', '{k}', '{region}', epsilon_budget => 1e9, leaves => 'long_leaves');
CALL dp_count_leaves('long');
SELECT path, size, groups FROM dp_hierarchy_release('long', 1e6) WHERE level = 1;

-- Only the owner counts, and what is counted is as private as what it was counted from.
CREATE ROLE dp_test_grantee;
SELECT dp_grant('bounded', 'dp_test_grantee', require_name => false), dp_set_smallest_charge('bounded', 1);
GRANT SELECT ON bounded TO dp_test_grantee;
SELECT hole, object FROM dp_check_privileges('dp_test_grantee') WHERE dataset = 'bounded' AND object ~ 'bounded';
REVOKE SELECT ON bounded FROM dp_test_grantee;
SET ROLE dp_test_grantee;
SELECT * FROM error_of('CALL dp_count_leaves(''bounded'')');
SELECT * FROM error_of('SELECT dp_leaf_query(''bounded'')');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('bounded', 1);
RESET ROLE;

-- An owner who is no superuser counts with its own rights.
CREATE ROLE dp_test_owner;
CREATE SCHEMA owned AUTHORIZATION dp_test_owner;
GRANT SELECT ON household_view TO dp_test_owner;
SET ROLE dp_test_owner;
CREATE TABLE owned.leaf (state text, h coco);
SELECT * FROM error_of('SELECT dp_create_dataset(''own'', ''person_view'', ''{household}'', ''{state}'', ''household_view'',
                        epsilon_budget => 1e9, leaves => ''owned.leaf'')');
RESET ROLE;
GRANT SELECT ON person_view TO dp_test_owner;
SET ROLE dp_test_owner;
SELECT dp_create_dataset('own', 'person_view', '{household}', '{state}', 'household_view', epsilon_budget => 1e9, leaves => 'owned.leaf');
CALL dp_count_leaves('own');
SELECT count(*) AS leaves FROM owned.leaf;
RESET ROLE;
REVOKE SELECT ON person_view FROM dp_test_owner;
SET ROLE dp_test_owner;
SELECT * FROM error_of('CALL dp_count_leaves(''own'')');
SELECT count(*) > 0 AS of_what_was_counted FROM dp_hierarchy_release('own', 1);
RESET ROLE;

-- Whatever is wrong is said before anything is counted or charged.
CREATE TABLE other (state int, h coco);
CREATE TABLE without (state text, h text);
CREATE TABLE parted (state text, h coco) PARTITION BY LIST (state);
CREATE TABLE free (state text, county text, h coco);
CREATE FUNCTION declares(leaves text, hierarchy text = '{state}', entities text = 'person_view', key text = '{household}')
    RETURNS SETOF text LANGUAGE sql AS $$
SELECT code || ' ' || message || coalesce(E'\n  ' || hint, '') FROM error_of(format(
    'SELECT dp_create_dataset(''wrong'', %L, %L, %L, %L, epsilon_budget => 1, leaves => %L)',
    entities, key, hierarchy, CASE WHEN hierarchy = '{state,county}' THEN 'household' END, leaves)) $$;
SELECT declares(leaves) FROM unnest('{bounded,other,without,parted,person_view,household}'::text[]) AS leaves;
SELECT declares('free', '{h}');
SELECT declares('person', entities => 'person');
CREATE TABLE numeric_leaves (state text, county numeric, h coco);
SELECT declares('numeric_leaves', '{state,county}');
SELECT code, message, hint FROM error_of('CALL dp_count_leaves(''a table of groups'')');
SELECT dp_create_dataset('late', 'person_view', '{household}', '{state,county}', 'household', epsilon_budget => 1, leaves => 'free');
SELECT code, message, hint FROM error_of('SELECT dp_hierarchy_release(''late'', 1)');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT code, message, hint FROM error_of('CALL dp_count_leaves(''late'')');
ROLLBACK;
INSERT INTO household VALUES (1, 'state 5', 5);
SELECT code, message, hint FROM error_of('CALL dp_count_leaves(''late'')');
DELETE FROM household WHERE state = 'state 5';
CREATE UNIQUE INDEX ON household (household);
CALL dp_count_leaves('late');
SELECT code, message, hint FROM error_of('SELECT * FROM dp_explain_hierarchy(''late'', 1)');
SELECT code, message, hint FROM error_of('SELECT * FROM dp_range_sums(''late'', ''county'', ''{"[0,2)"}''::int8range[], 1)');
SELECT epsilon_spent FROM dp_budget('late');

-- In one transaction with the release: what is counted and not committed is read, and charged whatever becomes of it.
BEGIN;
CALL dp_count_leaves('late');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('late', 0.25);
ROLLBACK;
SELECT epsilon_spent FROM dp_budget('late');

-- Tables that were changed are confirmed, those that are counted and the one that is read.
ALTER TABLE free RENAME TO renamed;
SELECT code, message FROM error_of('CALL dp_count_leaves(''late'')');
SELECT code, message FROM error_of('SELECT dp_hierarchy_release(''late'', 0.25)');
SELECT dp_confirm_dataset('late');
SELECT leaves FROM dp.datasets WHERE name = 'late';
DROP VIEW person_view;
SELECT code, message, hint FROM error_of('SELECT dp_hierarchy_release(''late'', 0.25)');
CREATE VIEW person_view AS TABLE person;
SELECT dp_confirm_dataset('late');
CALL dp_count_leaves('late');
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('late', 0.25);

-- Counting runs with the rights of the dataset's owner, whoever calls; so nobody else's code may be among what it reads.
CREATE ROLE dp_test_other;
CREATE SCHEMA other AUTHORIZATION dp_test_other;
GRANT USAGE ON SCHEMA other TO PUBLIC;
GRANT ALL ON SCHEMA owned TO PUBLIC;
CREATE FUNCTION owned.who() RETURNS text LANGUAGE sql STABLE AS 'SELECT current_user::text';
SET ROLE dp_test_owner;
CREATE TABLE owned.row (k int);
INSERT INTO owned.row VALUES (1), (1), (2);
CREATE VIEW owned.seen AS SELECT k, owned.who() AS region FROM owned.row;
CREATE TABLE owned.seen_leaves (region text, h coco);
SELECT dp_create_dataset('seen', 'owned.seen', '{k}', '{region}', epsilon_budget => 1, leaves => 'owned.seen_leaves');
RESET ROLE;
CALL dp_count_leaves('seen');
SELECT * FROM owned.seen_leaves;
SET ROLE dp_test_other;
CREATE TABLE other.home (k int, state text NOT NULL);
CREATE VIEW other.view AS TABLE other.home;
GRANT SELECT ON other.home, other.view TO PUBLIC;
SET ROLE dp_test_owner;
CREATE VIEW owned.around AS TABLE other.home;
CREATE TABLE owned.home_leaves (state text, h coco);
SELECT DISTINCT code, message FROM unnest('{other.home,other.view,owned.around}'::text[]) AS groups, error_of(format(
    'SELECT dp_create_dataset(''homes'', ''owned.row'', ''{k}'', ''{state}'', %L, epsilon_budget => 1, leaves => ''owned.home_leaves'')', groups))
 ORDER BY 2;
RESET ROLE;
ALTER TABLE owned.seen_leaves OWNER TO dp_test_other;
SELECT code, message FROM error_of('CALL dp_count_leaves(''seen'')');

-- What has changed since the declaration is looked at when it is counted.
CREATE TABLE shared (k int, state text NOT NULL);
CREATE TABLE apart (k int PRIMARY KEY, state text NOT NULL);
CREATE VIEW shared_view AS TABLE apart;
CREATE TABLE shared_leaves (state text, h coco);
SELECT dp_create_dataset('shared', 'shared', '{k}', '{state}', 'shared_view', epsilon_budget => 1, leaves => 'shared_leaves');
CALL dp_count_leaves('shared');
CREATE OR REPLACE VIEW shared_view AS TABLE shared;
SELECT code, message FROM error_of('CALL dp_count_leaves(''shared'')');
SELECT code, message FROM error_of('SELECT dp_create_dataset(''public'', ''shared'', ''{state}'', ''{state}'', ''shared_leaves'', epsilon_budget => 1)');
CREATE OR REPLACE VIEW shared_view AS TABLE apart;
INSERT INTO apart VALUES (1, 'x');
CALL dp_count_leaves('shared');
CREATE RULE kept AS ON DELETE TO shared_leaves DO INSTEAD NOTHING;
SELECT code, message, hint FROM error_of('CALL dp_count_leaves(''shared'')');
