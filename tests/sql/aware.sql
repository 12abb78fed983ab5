-- Buckets of bins where they hold alike. With epsilon = 1e4 next to nothing is noise.
SET client_min_messages = warning;
CREATE TABLE hit AS SELECT i AS id, CASE WHEN i <= 1280 THEN i % 128 ELSE 128 + (i * i * 7 % 31) END::bigint AS bin, i % 7 AS paid FROM generate_series(1, 2400) AS i;
CREATE TABLE released AS SELECT method, delta, dp_range_release((SELECT bins_agg(bin, 0, 256) FROM hit), 1e4, delta, method) AS r
  FROM (VALUES ('aware', 0::float8), ('aware:prefix', 0), ('aware:nodes', 1e-6)) AS m (method, delta);
SELECT method, delta, r::jsonb -> 'buckets' AS buckets FROM released ORDER BY delta, method;
SELECT method, bool_and(abs(sum - (SELECT count(*) FROM hit WHERE bin <@ s.range)) < 1) AS near, bool_and(stddev BETWEEN 0 AND 1) AS certain
  FROM released, dp_range_sums(r, ARRAY(SELECT int8range(i, i + j) FROM generate_series(0, 255, 7) AS i, unnest('{1,5,64,300}'::int[]) AS j)) AS s GROUP BY method ORDER BY method;
SELECT method, count(*) AS bins, bool_and(abs(value - (SELECT count(*) FROM hit AS h WHERE h.bin = u.bin)) < 1) AS near,
       bool_and(u.value = dp_range_sum(r, int8range(u.bin, u.bin + 1)) OR abs(u.value - dp_range_sum(r, int8range(u.bin, u.bin + 1))) < 1e-6) AS the_same
  FROM released, dp_unnest(r) AS u GROUP BY method ORDER BY method;
SELECT method, bool_and(abs(a.sum - u.sum) < 1) AS near, bool_and(a.stddev <= u.stddev + 1e-9) AS not_less_certain
  FROM released, unnest('{"[0,256)","[3,40)","[129,131)"}'::int8range[]) AS asked,
       dp_range_sums(r, ARRAY[asked]) AS u, dp_range_sums(r, ARRAY[asked], 'adaptive') AS a GROUP BY method ORDER BY method;
SELECT method, q.* FROM released, dp_quantiles(r, '{0,0.25,0.5}') AS q WHERE delta = 0 ORDER BY method, quantile;
-- written and read
SELECT bool_and(r::text::dp_ranges::text = r::text) AS text_is_read FROM released;
CREATE TABLE copied (method text, delta float8, r dp_ranges);
\copy (SELECT * FROM released) TO PROGRAM 'cat > aware_copy.tmp' (FORMAT binary)
\copy copied FROM PROGRAM 'cat aware_copy.tmp && rm aware_copy.tmp' (FORMAT binary)
SELECT bool_and(c.r::text = s.r::text) AS binary_is_read FROM copied AS c JOIN released AS s USING (method);

-- where it has nothing to merge, it is what auto is
SELECT dp_range_release('[0,3){0:5,1:7}', 1e6, method => 'aware') ::jsonb -> 'buckets' AS buckets;
-- wide noise merges what is uniform: fewer buckets than bins
SELECT jsonb_array_length(dp_range_release('[0,4096){}', 1, method => 'aware')::jsonb -> 'buckets') < 2048 AS merged;

-- a column, of cells between the ends of ranges as of bins
SELECT dp_create_dataset('hits', 'hit', '{id}', '{}', epsilon_budget => 1e5);
SELECT count(*) AS answers, bool_and(abs(sum - (SELECT count(*) FROM hit WHERE bin <@ s.range)) < 1) AS near
  FROM dp_range_sums('hits', 'bin', ARRAY(SELECT int8range(i, i + 2) FROM generate_series(0, 254, 2) AS i), 1e4, method => 'aware') AS s;
SELECT epsilon_spent, releases FROM dp_budget('hits');
SELECT epsilon, delta, round(rho) AS rho, key, parameters -> key AS value FROM dp.ledger, jsonb_object_keys(parameters) AS key WHERE dataset = 'hits' AND key <> 'made_for' ORDER BY key;
SELECT count(*) AS answers, bool_and(abs(sum - (SELECT sum(least(paid, 5)) FROM hit WHERE bin <@ s.range)) < 2) AS near
  FROM dp_range_sums('hits', 'bin', ARRAY(SELECT int8range(i, i + 2) FROM generate_series(0, 254, 2) AS i), 1e4, method => 'aware:prefix', amount => 'paid', max_amount => 5, estimate => 'adaptive') AS s
 WHERE range <@ int8range(128, 256);
-- under a name it is free the second time
CREATE TABLE first AS SELECT * FROM dp_range_sums('hits', 'bin', ARRAY(SELECT int8range(i, i + 1) FROM generate_series(0, 255) AS i), 1, method => 'aware', name => 'bins', estimate => 'adaptive');
SELECT count(*) AS the_same FROM first JOIN dp_range_sums('hits', 'bin', ARRAY(SELECT int8range(i, i + 1) FROM generate_series(0, 255) AS i), 1, method => 'aware', name => 'bins', estimate => 'adaptive') AS s USING (range, sum, stddev);
SELECT epsilon_spent, releases FROM dp_budget('hits');
-- the dataset's charge of a histogram made elsewhere
SELECT dp_range_release((SELECT bins_agg(bin, 0, 256) FROM hit), 10, method => 'aware', dataset => 'hits') IS NOT NULL AS released;
SELECT epsilon_spent, releases FROM dp_budget('hits');

-- of as many buckets as are settled beforehand: steps where they are, and of a column, with all that is charged
CREATE TABLE first_built AS SELECT method, dp_range_release((SELECT bins_agg(bin, 0, 256) FROM hit), 1e5, method => method) AS r FROM unnest('{structure_first,structure_first:prefix}'::text[]) AS method;
SELECT method, jsonb_array_length(r::jsonb -> 'buckets') AS buckets, r::jsonb #> '{uneven,0,length}' AS of_whole_ones, abs(dp_range_sum(r, '[0,256)') - 2400) < 1 AS near, r::text::dp_ranges::text = r::text AS is_read FROM first_built ORDER BY method;
SELECT method, (SELECT count(*) FROM dp_unnest(r) AS u WHERE u.stddev >= 0) AS bins, a.stddev <= s.stddev + 1e-9 AS not_less_certain FROM first_built, dp_range_sums(r, '{"[0,100)"}') AS s, dp_range_sums(r, '{"[0,100)"}', 'adaptive') AS a ORDER BY method;
SELECT count(*) AS answers FROM dp_range_sums('hits', 'bin', ARRAY(SELECT int8range(i, i + 2) FROM generate_series(0, 254, 2) AS i), 10, method => 'structure_first', amount => 'paid', max_amount => 5, name => 'structure');
SELECT epsilon, delta, key, parameters -> key AS value FROM dp.ledger, jsonb_object_keys(parameters) AS key WHERE id = (SELECT max(id) FROM dp.ledger) AND key IN ('method', 'number_of_buckets', 'selections', 'deviations', 'buckets', 'rows_per_unit') ORDER BY key;
SELECT epsilon_spent, releases FROM dp_budget('hits');
SELECT count(*) AS served FROM dp_range_sums('hits', 'bin', ARRAY(SELECT int8range(i, i + 2) FROM generate_series(0, 254, 2) AS i), 10, method => 'structure_first', amount => 'paid', max_amount => 5, name => 'structure');
SELECT epsilon_spent, releases FROM dp_budget('hits');
SELECT jsonb_array_length(dp_range_release('[0,63){}', 1, method => 'structure_first')::jsonb -> 'buckets') AS one_by_one;

-- refused, for nothing
SELECT e.* FROM error_of($$SELECT dp_range_release('[0,2049){}', 1, method => 'structure_first')$$) AS e;
SELECT bad, e.code, e.message FROM unnest('{structure_first:2,structure_first:,structurefirst}'::text[]) AS bad, error_of(format('SELECT dp_range_release(''[0,9){}'', 1, method => %L)', bad)) AS e;
SELECT e.* FROM unnest('{1e8,1e-9}'::float8[]) AS epsilon, error_of(format('SELECT dp_range_release(''[0,90){}'', %L, method => ''structure_first'')', epsilon)) AS e;
SELECT e.code, e.message FROM error_of($$SELECT dp_range_sums('hits', 'bin', '{"[0,9)"}'::int8range[], 1, method => 'structure_first', amount => 'id', max_amount => 3, min_amount => -3)$$) AS e;
SELECT e.code, e.message FROM error_of($$SELECT dp_explain_ranges(100, 1, methods => '{structure_first}')$$) AS e;
SELECT e.* FROM error_of($$SELECT dp_range_release('[0,1048577){}', 1, method => 'aware')$$) AS e;
SELECT bad, e.* FROM unnest('{aware:2,aware:,"aware:all:all",Aware}'::text[]) AS bad, error_of(format('SELECT dp_range_release(''[0,9){}'', 1, method => %L)', bad)) AS e;
SELECT e.* FROM unnest('{1e7,1e-10,0}'::float8[]) AS epsilon, error_of(format('SELECT dp_range_release(''[0,90){}'', %L, method => ''aware'')', epsilon)) AS e;
SELECT e.* FROM error_of($$SELECT dp_range_sums('hits', 'bin', '{"[0,9)"}'::int8range[], 1, method => 'aware', amount => 'id', max_amount => 3, min_amount => -3)$$) AS e;
SELECT e.* FROM error_of($$SELECT dp_explain_ranges(100, 1, methods => '{aware}')$$) AS e;
SELECT e.* FROM error_of($$SELECT dp_region_range_sums('hits', 'bin', '{"[0,9)"}'::int8range[], 1, method => 'aware')$$) AS e;
-- forged ones
SELECT what, e.* FROM (VALUES ('of other bins', '[1,2]'), ('with no bin', '[0,3]'), ('too many', '[1,1,1,1]'), ('beyond all', '[4294967295,1,1]')) AS f (what, buckets),
       error_of(format('SELECT %L::dp_ranges', jsonb_set(dp_range_release('[0,3){}', 1, method => 'aware')::jsonb, '{buckets}', buckets::jsonb))) AS e;
SELECT e.code, e.message FROM unnest('{"{\"length\": 1, \"square\": 1}","{\"length\": 4, \"square\": -1}"}'::text[]) AS bad,
       error_of(format('SELECT %L::dp_ranges', jsonb_set(dp_range_release('[0,3){}', 1, method => 'aware')::jsonb, '{uneven,0}', bad::jsonb))) AS e;
SELECT e.* FROM error_of(format('SELECT %L::dp_ranges', jsonb_set(dp_range_release('[0,3){}', 1, method => 'tree:2')::jsonb, '{buckets}', '[1,1,1]'))) AS e;
SELECT epsilon_spent, releases FROM dp_budget('hits');
