-- dp_certificate and what goes with it. The noise of epsilon = 1e6 is 0. (Forgeries: tests/attacks/forgery.)
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE TABLE household (household int PRIMARY KEY, state text NOT NULL);
INSERT INTO household VALUES (1, 'Ohio'), (2, 'Ohio'), (3, 'the "other", one');
CREATE TABLE person AS SELECT i % 2 + 2 AS household, i AS id FROM generate_series(1, 7) AS i;
CREATE TABLE sized AS SELECT 'Utah' AS state, 4 AS members;
SELECT dp_create_dataset('census', 'person', '{household}', '{state}', 'household', epsilon_budget => 3e6, delta_budget => 1e-6);
SELECT dp_create_dataset('units', 'person', '{household}', '{state}', 'household', epsilon_budget => 1e9, privacy_unit => 'id', max_rows_per_unit => 2);
SELECT dp_create_dataset('sizes', 'sized', '{}', '{state}', size_column => 'members', epsilon_budget => 1e9);
SELECT FROM dp_hierarchy_release('census', 1e6, '{Hc,Hg}', budget_shares => '{0.25,0.75}', name => 'v1');
SELECT FROM dp_hierarchy_release('census', 1e6, '{select:Hc|Hg}', name => 'chosen');
SELECT FROM dp_hierarchy_release('units', 1e6, name => 'v1');
SELECT FROM dp_hierarchy_release('sizes', 1e6, name => 'v1');

-- all but what is another one each time
\pset tuples_only
\pset format unaligned
SELECT jsonb_pretty((dp_certificate('census', 'v1') - 'ledger') #- '{release,charged_at}' #- '{release,stored_at}' #- '{total,at}' #- '{implementation,postgresql}' #- '{parameters,rho}');
-- as a page; the same for one whose error bars are not known
SELECT regexp_replace(dp_certificate_text(dataset, name), 'rho .*|[0-9a-f]{64}|2[0-9]{3}-.*Z|PostgreSQL .*', '...', 'gn')
  FROM (VALUES ('units', 'v1'), ('census', 'chosen')) AS r (dataset, name);
\pset tuples_only
\pset format aligned
SELECT (SELECT string_agg(key, ' ' ORDER BY key) FROM jsonb_object_keys(c -> 'ledger') AS key) AS keys, c #>> '{ledger,hash}' = encode(l.hash, 'hex') AS hash,
       (c #>> '{ledger,entry}')::jsonb -> 9 = l.parameters AS entry, (c #>> '{release,charged_at}')::timestamptz = l."when" AS charged,
       (c #>> '{release,stored_at}')::timestamptz = r.released_at AS stored
  FROM dp.ledger AS l, dp.releases AS r, dp_certificate('census', 'v1') AS c WHERE l.id = 1 AND (r.dataset, r.name) = ('census', 'v1');
SELECT c -> 'unit' AS unit, c -> 'public' AS public, c -> 'accuracy' AS accuracy, c #> '{release,regions_per_level}' AS regions
  FROM (VALUES ('census', 'chosen'), ('units', 'v1'), ('sizes', 'v1')) AS r (dataset, name), dp_certificate(dataset, name) AS c;
-- the checksum is that of sorted lines as COPY writes them
COPY (SELECT level, path, size, groups FROM dp.release_rows WHERE dataset = 'census' AND release = 'v1' ORDER BY level, path, size) TO STDOUT (FORMAT csv);
\set checksum `psql -X -q -c "\copy (SELECT level, path, size, groups FROM dp.release_rows WHERE dataset = 'census' AND release = 'v1') TO STDOUT (FORMAT csv)" | LC_ALL=C sort | sha256sum | cut -d ' ' -f 1`
SELECT dp_certificate('census', 'v1') #>> '{rows,sha256}' = :'checksum' AS same;

-- of ranges the bytes of floating-point numbers are hashed, whatever they are shown as
SELECT FROM dp_range_sums('census', 'id', '{"[0,9)","[3,)"}', 0.5, 1e-7, method => 'gaussian', name => 'ranges');
SELECT FROM dp_range_release((SELECT bins_agg(id, 0, 8) FROM person), 0.5, dataset => 'census', name => 'bins');
SET extra_float_digits = -3;
SELECT c #>> '{flavour,definition}' AS definition, c #> '{mechanism,measurements}' AS measurements, c #>> '{rows,columns}' AS columns, c #>> '{rows,count}' AS count,
       c #>> '{rows,sha256}' = (SELECT encode(sha256(string_agg(convert_to(concat(grain, ',', lower_bound, ',', upper_bound, ',', encode(float8send(sum), 'hex'), ',', encode(float8send(stddev), 'hex'), E'\n'), 'UTF8'), ''
                                                                ORDER BY concat(grain, ',', lower_bound, ',', upper_bound) COLLATE "C")), 'hex')
                                  FROM dp.range_rows AS r WHERE r.release = n.name) AS same, dp_certificate_text('census', n.name) ~ 'Rows' AS text
  FROM (VALUES ('ranges'), ('bins')) AS n (name), dp_certificate('census', n.name) AS c;
RESET extra_float_digits;

-- a release that is not stored, or gone
SELECT * FROM error_of($$SELECT dp_certificate('census', 'v2')$$);
SELECT * FROM error_of($$SELECT dp_certificate_text('nothing', 'v1')$$);
SELECT * FROM error_of($$SELECT dp_certificate(NULL, 'v1')$$);
SELECT * FROM error_of($$SELECT dp_certificate('census', NULL)$$);
SELECT dp_drop_dataset('sizes');
SELECT dp_certificate('sizes', 'v1') -> 'release' ->> 'name' AS of_a_dropped_dataset;
SELECT dp_create_dataset('sizes', 'sized', '{}', '{state}', size_column => 'members', epsilon_budget => 1);
SELECT dp_certificate('sizes', 'v1') ? 'total' AS total_of_another_dataset;
SELECT dp_drop_dataset('sizes');
CALL dp_set_status('sizes', 'v1', 'retracted');
SELECT line FROM regexp_split_to_table(dp_certificate_text('sizes', 'v1'), E'\n') AS line WHERE line ~ '^(Status|Rows)';
SELECT c -> 'release' ->> 'status' AS status, c ? 'rows' AS rows, dp_certificate_text('sizes', 'v1') ~ 'Rows' AS text FROM dp_certificate('sizes', 'v1') AS c;

-- the chain is for everyone, entries are for owners, of dropped datasets, too; what was spent in all is for those who may release
SELECT id, previous_hash IS NULL AS first, previous_hash = lag(hash) OVER (ORDER BY id) AS follows,
       hash = encode(sha256(decode(coalesce(previous_hash, ''), 'hex') || convert_to(entry, 'UTF8')), 'hex') AS hashed
  FROM dp.ledger_chain ORDER BY id;
SELECT count(*) AS links, count(*) FILTER (WHERE c.hash = encode(l.hash, 'hex')) AS of_ledger FROM dp.ledger_chain AS c LEFT JOIN dp.ledger AS l USING (id);
CREATE ROLE dp_test_reader;
SET ROLE dp_test_reader;
SELECT count(*) AS links, count(entry) AS entries, count(DISTINCT hash) AS hashes FROM dp.ledger_chain;
SELECT dp_certificate('census', 'v1') ? 'total' AS total, position('All releases' IN dp_certificate_text('census', 'v1')) AS text;
RESET ROLE;
SELECT dp_grant('census', 'dp_test_reader');
SET ROLE dp_test_reader;
SELECT dp_certificate('census', 'v1') -> 'total' -> 'epsilon_spent' AS spent, dp_certificate('census', 'v1') -> 'total' -> 'adds_up_with' AS adds_up_with;
RESET ROLE;
CALL dp_set_status('census', 'v1', 'draft');
SET ROLE dp_test_reader;
SELECT code AS of_a_draft FROM error_of($$SELECT dp_certificate('census', 'v1')$$);
RESET ROLE;
SELECT * FROM dp_verify_ledger();
DROP ROLE dp_test_reader;

-- no name writes a line of a certificate, or moves the text of one
SELECT e.code, e.message
  FROM unnest(ARRAY[E'q3" of dataset "d"\n\nPromise        none', E'a\tb', E'a\x7Fb', E'a\u0085b', E'a\u2028b', E'a\u2029b', E'a\u202Eb', E'a\u2066b', E'a\u061Cb', E'a\u200Eb', E'a\u200Bb', E'a\u2060b', E'a\uFEFFb',
                    'a  b', E'a \u00A0b', E'a\u3000\u2003b']) AS name,
       error_of(format('SELECT dp_hierarchy_release(''census'', 1, name => %L)', name)) AS e;
SELECT e.* FROM unnest(ARRAY[$$SELECT dp_create_dataset(E'a\nb', 'person', '{household}', '{state}', 'household', epsilon_budget => 1)$$,
                             $$CALL dp_publish(E'a\nb', '[{"dataset": "census", "epsilon": 1, "name": "c"}]')$$,
                             $$SELECT dp_stream_create('census', E'a\nb', 'id', date '2026-01-01', '1 day', 9, 1)$$]) AS s (statement), error_of(statement) AS e;
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('census', 1, name => 'Bücher, 图书 und „mehr“');
-- what was charged, stored or begun under such a name by an earlier version is asked for by it as before
BEGIN;
UPDATE dp.release SET name = E'old\nx' WHERE (dataset_name, name) = ('census', 'chosen');
SELECT count(*) AS served FROM dp_hierarchy_release('census', 1e6, '{select:Hc|Hg}', name => E'old\nx');
SELECT * FROM error_of($$SELECT dp_hierarchy_release('census', 1, name => E'old\nx')$$);
ROLLBACK;
SELECT dp_create_dataset('old', 'person', '{household}', '{state}', 'household', epsilon_budget => 1e9);
ALTER TABLE dp.release_sum ADD CONSTRAINT broken CHECK (grain <> '77') NOT VALID;
SELECT * FROM error_of($$SELECT dp_range_sums('old', 'id', '{"[0,77)"}', 1e6, name => 'unstored')$$);
SELECT * FROM error_of($$CALL dp_publish('begun', '[{"dataset": "old", "function": "dp_range_sums", "name": "its", "value_column": "id", "ranges": ["[0,77)"], "epsilon": 1e6}]')$$);
ALTER TABLE dp.release_sum DROP CONSTRAINT broken;
ALTER TABLE dp.charge DISABLE TRIGGER USER; -- its entry of the ledger has the name, too
UPDATE dp.release SET name = E'un  stored\n' WHERE name = 'unstored';
UPDATE dp.charge SET parameters = jsonb_set(parameters, '{name}', to_jsonb(E'un  stored\n'::text)) WHERE parameters ->> 'name' = 'unstored';
ALTER TABLE dp.charge ENABLE TRIGGER USER;
UPDATE dp.publication SET name = E'begun\n' WHERE name = 'begun';
SELECT * FROM error_of($$SELECT dp_range_sums('old', 'id', '{"[0,76)"}', 1e6, name => E'un  stored\n')$$);
SELECT sum FROM dp_range_sums('old', 'id', '{"[0,77)"}', 1e6, name => E'un  stored\n');
CALL dp_publish(E'begun\n', '[{"dataset": "old", "function": "dp_range_sums", "name": "its", "value_column": "id", "ranges": ["[0,77)"], "epsilon": 1e6}]');
SELECT name, status FROM dp.releases WHERE dataset = 'old' ORDER BY name;
SELECT releases, epsilon_spent FROM dp_budget('old');
-- neither one that was stored before, nor that of a role or a table
BEGIN;
UPDATE dp.release SET name = E'q3" of dataset "d"\n\nPromise        none\u2028\u202E\u200E' || repeat(' ', 60) || 'Loss' WHERE (dataset_name, name) = ('census', 'chosen');
UPDATE dp.dataset SET groups_name = E'a\nLoss           none' WHERE name = 'census';
SELECT line FROM regexp_split_to_table(dp_certificate_text('census', E'q3" of dataset "d"\n\nPromise        none\u2028\u202E\u200E' || repeat(' ', 60) || 'Loss'), E'[\n\u2028]') WITH ORDINALITY AS l (line, n)
 WHERE line ~ 'Certificate|Promise|none' ORDER BY n;
ROLLBACK;
