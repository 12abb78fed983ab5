-- A dataset's tables lie in PostgreSQL's own storage, with all their parts: what another access method does with rows is
-- not known. (Tables that Citus distributes: tests/attacks/citus.)
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE person (household int, state text);
INSERT INTO person SELECT i % 7, 'A' FROM generate_series(1, 40) AS i;
CREATE TABLE household (household int PRIMARY KEY, state text NOT NULL);
INSERT INTO household SELECT i, 'A' FROM generate_series(0, 9) AS i;
CREATE TABLE other_person (household int, state text) USING other;
CREATE TABLE other_household (household int PRIMARY KEY, state text NOT NULL) USING other;
CREATE MATERIALIZED VIEW other_view USING other AS TABLE person;
CREATE TABLE parent (household int, state text);
CREATE TABLE other_child () INHERITS (parent) USING other;
CREATE TABLE split (household int, state text) PARTITION BY LIST (state);
CREATE TABLE split_a PARTITION OF split FOR VALUES IN ('A') PARTITION BY LIST (household);
CREATE TABLE split_a_1 PARTITION OF split_a FOR VALUES IN (1);
INSERT INTO split VALUES (1, 'A');
SELECT dp_create_dataset('split', 'split', '{household}', '{}', epsilon_budget => 1e9);
CREATE TABLE other_part PARTITION OF split_a FOR VALUES IN (2) USING other;
SELECT e.* FROM (VALUES
    ('''other_person'', ''{household}'', ''{state}'''),
    ('''person'', ''{household}'', ''{state}'', ''other_household'''),
    ('''other_view'', ''{household}'', ''{state}'''),
    ('''parent'', ''{household}'', ''{state}'''),
    ('''split'', ''{household}'', ''{state}''')) AS t (arguments),
    error_of('SELECT dp_create_dataset(''refused'', ' || arguments || ', epsilon_budget => 1)') AS e;

-- as it is now, at each release, and before the charge
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('split', 1e6)$$);
SELECT code, message FROM error_of($$SELECT dp_range_sums('split', 'household', '{"[0,3)"}', 1e6)$$);
DROP TABLE other_part;
SELECT dp_create_dataset('census', 'person', '{household}', '{state}', 'household', epsilon_budget => 1e9);
ALTER TABLE household SET ACCESS METHOD other;
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('census', 1e6)$$);
ALTER TABLE household SET ACCESS METHOD heap;
ALTER TABLE person SET ACCESS METHOD other;
SELECT code, message FROM error_of($$SELECT dp_hierarchy_release('census', 1e6)$$);
SELECT count(*) AS charges FROM dp.charge;
ALTER TABLE person SET ACCESS METHOD heap;
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1e6);
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('split', 1e6);
SELECT count(*) AS charges FROM dp.charge;
