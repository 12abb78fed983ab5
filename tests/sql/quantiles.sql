-- Quantiles of releases of bins. The noise of epsilon = 1e4 is 0.
SET client_min_messages = warning;
CREATE TABLE released AS SELECT method, dp_range_release('[-3,7){-2:100, 0:300, 1:200, 5:400}', 1e4, method => method) AS r FROM unnest('{flat,tree:3,tree_consistent,wavelet}'::text[]) AS method;
SELECT method, string_agg(format('%s:%s', quantile, value), ' ' ORDER BY n) AS quantiles,
       bool_and(lower <= value AND value <= upper) AS within, bool_and(quantile = 0 OR lower = upper) AS exact
  FROM released, ROWS FROM (dp_quantiles(r, '{0.55,0.05,0.35,0.15,0.65,0.95}')) WITH ORDINALITY AS q (quantile, value, lower, upper, n) GROUP BY method ORDER BY method;
-- nothing is known: all bins, and no error
SELECT count(*), bool_and(lower <= value AND value <= upper AND lower >= 0 AND upper < 1000) AS within
  FROM dp_quantiles(dp_range_release('[0,1000){}', 1e-6), '{0,0.001,0.5,0.999,1}');
SELECT lower, upper FROM dp_quantiles(dp_range_release('[5,6){5:3}', 1), '{0,0.5,1}');
SELECT count(*) AS none FROM released, dp_quantiles(r, '{}');
-- the ends of bigint
SELECT value FROM dp_quantiles(dp_range_release('[9223372036854775800,9223372036854775807){9223372036854775806:3}', 1e4, method => 'flat'), '{0.5}');
-- many of many: a few passes each
SELECT count(*) AS quantiles, bool_and(value BETWEEN lower AND upper) AS within, bool_and(abs(value - quantile * 1048576) < 1000) AS close
  FROM dp_quantiles(dp_range_release((SELECT bins_agg(i, 0, 1048576) FROM generate_series(0, 1048575) AS i), 10, method => 'auto:prefix'),
                    ARRAY(SELECT i / 100.0::float8 FROM generate_series(1, 99) AS i));
SELECT bad, e.* FROM unnest('{"NULL, ''{0.5}''","r, NULL","r, ''{0.5,NULL}''","r, ''{-0.1}''","r, ''{NaN}''","r, ''{0,1.0001}''"}'::text[]) AS bad,
       error_of(format('SELECT dp_quantiles(%s) FROM released', bad)) AS e;
