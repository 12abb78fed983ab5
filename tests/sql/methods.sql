-- Every method for range sums, and what is known of it before anything is spent.
-- Without noise to speak of, every method gives the truth. With a delta Gaussian noise at epsilon = 1e6 has a variance of about 5e-7.
SET client_min_messages = warning; -- of what is charged (tests/sql/access.sql)
CREATE VIEW method AS
    SELECT word, delta FROM unnest('{auto,auto:nodes,flat,tree,tree:3,tree:4:geometric,tree_consistent,tree_consistent:2:optimised,quad,wavelet,gaussian,binary_tree,cascade,cascade:5,prefix,optimal,optimal:prefix,optimal:nodes,minimax,minimax:prefix}'::text[]) AS word,
           unnest('{0,1e-6}'::float8[]) AS delta
     WHERE delta > 0 OR word !~ '^(gaussian|binary_tree|cascade|prefix|optimal|minimax)' OFFSET 0;
SELECT word, delta, bool_and(abs(s.sum - truth) < 1e-2) AS right
  FROM method, LATERAL dp_range_sums(dp_range_release('[0,10){0:1, 3:2, 7:5, 9:1}', 1e6, delta, word), '{"[0,10)", "[3,8)", "[4,7)", "[-5,4)", "[9,99)"}') AS s
       JOIN unnest('{"[0,10)", "[3,8)", "[4,7)", "[-5,4)", "[9,99)"}'::int8range[], '{9,7,0,3,1}'::float8[]) AS t(range, truth) USING (range)
 GROUP BY word, delta ORDER BY word, delta;
-- one bin
SELECT bool_and(round(dp_range_sum(dp_range_release('[5,6){5:7}', 1e6, delta, word), '[5,6)')) = 7) AS right FROM method;

-- the errors before anything is spent: what a release states is what was explained
SELECT method, branching, round(mean_variance::numeric, 3) AS mean_variance, round(max_variance::numeric, 3) AS max_variance, round(svd_ratio::numeric, 3) AS svd_ratio, chosen
  FROM dp_explain_ranges(64, 1, 1e-6);
SELECT method, branching, round(mean_variance::numeric, 3) AS mean_variance, round(svd_ratio::numeric, 3) AS svd_ratio, chosen FROM dp_explain_ranges(64, 1, 1e-6, 'prefix', '{cascade,prefix,optimal}');
-- for the worst case, if it is named
SELECT workload, method, round(mean_variance::numeric, 3) AS mean_variance, round(max_variance::numeric, 3) AS max_variance, chosen
  FROM unnest('{all,prefix,nodes}'::text[]) AS workload, dp_explain_ranges(64, 1, 1e-6, workload, '{optimal,minimax}');
SELECT method, branching, round(mean_variance::numeric, 3) AS mean_variance, round(svd_ratio::numeric, 3) AS svd_ratio, chosen FROM dp_explain_ranges(60, 1, 1e-6, 'nodes', '{flat,cascade,cascade:3,optimal,auto}');
SELECT method, branching, chosen FROM dp_explain_ranges(64, 1, methods => '{flat,tree,tree_consistent,tree_consistent:4,quad}', branching => 16);
SELECT e.method, abs(e.mean_variance - of_release.mean) < 1e-9 * e.mean_variance AS mean_as_stated, abs(e.max_variance - of_release.max) < 1e-9 * e.max_variance AS max_as_stated
  FROM dp_explain_ranges(40, 0.7, 1e-6) AS e,
       LATERAL (SELECT avg(stddev ^ 2) AS mean, max(stddev ^ 2) AS max
                  FROM dp_range_sums(dp_range_release('[0,40){3:9}', 0.7, 1e-6, e.method),
                                     (SELECT array_agg(int8range(lo, hi)) FROM generate_series(0, 39) AS lo, generate_series(lo + 1, 40) AS hi))) AS of_release;
-- parents are the sums of their children where the method promises it, and no tree without inference keeps that
SELECT word, max(abs(whole - parts)) < 1e-6 AS adds_up
  FROM unnest('{flat,tree,tree_consistent,quad,wavelet,gaussian,binary_tree,cascade,cascade:3,prefix,optimal,minimax}'::text[]) AS word,
       LATERAL (SELECT dp_range_release('[0,64){3:9, 40:1000}', 0.1, 1e-6, word) AS r OFFSET 0) AS released,
       LATERAL (SELECT dp_range_sum(r, int8range(lo, lo + 2 * w)) AS whole, dp_range_sum(r, int8range(lo, lo + w)) + dp_range_sum(r, int8range(lo + w, lo + 2 * w)) AS parts
                  FROM unnest('{1,2,4,8,16,32}'::int[]) AS w, LATERAL generate_series(0, 63, 2 * w) AS lo) AS nodes
 GROUP BY word ORDER BY word;

-- what is charged: a delta for Gaussian noise alone, and none to a dataset without a budget for it
CREATE TABLE person (id int, age smallint);
INSERT INTO person SELECT i, i % 90 FROM generate_series(1, 1000) AS i;
SELECT dp_create_dataset('people', 'person', '{id}', '{}', epsilon_budget => 10, delta_budget => 1e-5);
SELECT dp_create_dataset('pure', 'person', '{id}', '{}', epsilon_budget => 10);
SELECT count(*) FROM dp_range_sums('people', 'age', '{"[0,18)", "[18,65)", "[65,100)"}', 1, 1e-6, method => 'wavelet');
SELECT count(*) FROM dp_range_sums('people', 'age', '{"[0,18)", "[18,65)", "[65,100)"}', 1, 1e-6, method => 'cascade');
SELECT count(*) FROM dp_range_sums('people', 'age', '{"[0,18)", "[18,65)", "[65,100)"}', 1, 1e-6, method => 'quad');
SELECT epsilon, delta, parameters->>'method' AS method, parameters->>'bins' AS cells FROM dp.ledger ORDER BY id;
SELECT * FROM error_of($$SELECT dp_range_sums('pure', 'age', '{"[0,18)"}', 1, 1e-6, method => 'cascade')$$);
SELECT * FROM error_of($$SELECT dp_range_release('[0,9){}', 1, 1e-6, 'cascade', 'pure')$$);
SELECT name, epsilon_spent, delta_spent FROM dp.datasets ORDER BY name;
-- where the deltas add up to more than half of the budget, the zCDP bound at the other half counts
SELECT count(*) FROM dp_range_sums('people', 'age', '{"[0,18)"}', 1, 1e-4, method => 'cascade');
SELECT round(epsilon_spent, 3) AS epsilon_spent, delta_spent, epsilon_sum, round(epsilon_zcdp::numeric, 3) AS epsilon_zcdp FROM dp_budget('people');
SELECT * FROM error_of($$SELECT dp_range_sums('people', 'age', '{"[0,18)"}', 10, 1e-4, method => 'cascade')$$);

-- made for what is asked: neighbouring ranges are measured once each, whatever bins lie in them
SELECT range, round((stddev ^ 2)::numeric, 3) AS variance FROM dp_range_sums('people', 'age', '{"[0,18)", "[18,65)", "[65,100)"}', 1, method => 'flat');
SELECT range, round((stddev ^ 2)::numeric, 3) AS variance FROM dp_range_sums(dp_range_release('[-1,101){}', 1, method => 'flat'), '{"[0,18)", "[18,65)", "[65,100)"}');

-- arguments that are refused
SELECT e.* FROM (VALUES ('0, 1'), ('-5, 1'), ('16777217, 1'), ('NULL, 1'), ('64, NULL'), ('64, 0'), ('64, 1, 1'), ('64, 1, NULL'), ('64, 1, 0, NULL'), ('64, 1, 0, ''some'''),
    ('64, 1, 0, ''all'', ''{tree,trie}'''), ('64, 1, 0, ''all'', ''{NULL}'''), ('64, 1, 0, ''all'', ''{cascade}'''), ('64, 1, 1e-6, ''all'', ''{cascade:1025}'''),
    ('64, 1, branching => 1'), ('64, 1, branching => -1'), ('64, 1, methods => ''{flat}'', branching => -7'), ('4194305, 1, 1e-6, ''all'', ''{optimal}'''), ('16385, 1, 1e-6, ''all'', ''{minimax}'''), ('64, 1e-15'), ('64, 1, 1e-320'))
    AS bad(arguments), error_of(format('SELECT dp_explain_ranges(%s)', arguments)) AS e;
SELECT count(*) AS nothing_asked FROM dp_explain_ranges(64, 1, methods => '{}');
SELECT e.* FROM (VALUES ('0, ''cascade'''), ('0, ''optimal'''), ('0, ''minimax:prefix'''), ('1e-6, ''cascade:1'''), ('1e-6, ''tree:0'''), ('1e-6, ''cascade:2:equal'''), ('1e-6, ''optimal:all:all'''), ('1e-6, ''minimax:some'''), ('1e-6, ''flat:2'''))
    AS bad(arguments), error_of(format('SELECT dp_range_release(''[0,9){}'', 1, %s)', arguments)) AS e;

-- values that no release function made
CREATE FUNCTION budget(zcdp numeric, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql
    RETURN jsonb_build_object('zcdp', zcdp, 'curves', '[0, 0, 0, 0, 0]'::jsonb, 'given_up', 1) || more;
CREATE TABLE forged AS SELECT dp_range_release('[0,4){1:5}', 1, 1e-6, 'prefix')::jsonb AS r;
SELECT dp_range_sum(jsonb_set(r, '{parameters,calibration,Together}', budget(1e-300))::text::dp_ranges, '[0,4)') IS NOT NULL AS sum FROM forged;
SELECT e.* FROM forged, LATERAL (VALUES ('1e-300', 'dp_range_sums(%L, ''{"[0,4)"}'')'), ('1e-300', 'dp_unnest(%L::dp_ranges)'), ('0', 'dp_range_sum(%L, ''[0,4)'')'),
    ('-1', 'dp_range_sum(%L, ''[0,4)'')')) AS forgery(rho, call), error_of(format('SELECT ' || call, jsonb_set(r, '{parameters,calibration,Together}', budget(rho::numeric)))) AS e;
SELECT e.* FROM forged, unnest('{"{\"curves\": [0]}","{\"curves\": [0, 0, -1, 0, 0]}","{\"given_up\": -1}","{\"zcdp\": null}"}'::jsonb[]) AS more,
    error_of(format('SELECT dp_range_sum(%L, ''[0,4)'')', jsonb_set(r, '{parameters,calibration,Together}', budget(1, more)))) AS e;
SELECT dp_range_sum(jsonb_set(r, '{parameters,calibration,Together}', budget(1, more))::text::dp_ranges, '[0,4)') IS NOT NULL AS sum
  FROM forged, unnest('{"{\"curves\": [0, 0, 1e308, 0, 1e-300]}","{\"given_up\": 0}","{\"given_up\": 1e308}"}'::jsonb[]) AS more;
