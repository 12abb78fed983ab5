-- dp_coco_histogram on an exact histogram, and what can be read off the result.
SELECT m AS method, dp_coco_histogram('{0:5, 1:2, 7:1, 50:1}'::coco, 1e6, 10, m)
  FROM unnest('{H,Hc,Hc_l2,Hg,cut,cut:0,cut:2,cut:10,auto}'::text[]) AS m;
SELECT dp_coco_histogram('{}'::coco, 1.0) AS no_groups, dp_coco_histogram('{0:3}'::coco, 1e6) AS no_entities,
       dp_coco_histogram('{4:1}'::coco, 1e6) AS one_group;

-- totals hold, whatever the noise
SELECT m AS method, bool_and(dp_groups(d) = 30) AS all_groups, bool_and(dp_quantile(d, 1) <= 40) AS within_max_size
  FROM unnest('{H,Hc,Hc_l2,Hg,cut,cut:8}'::text[]) AS m, generate_series(1, 20) AS run,
       LATERAL (SELECT dp_coco_histogram('{1:20, 5:9, 100:1}'::coco, 0.05, 40 + 0 * run, m)) AS x(d)
 GROUP BY m ORDER BY m;

-- two billion groups
SELECT dp_groups(dp_coco_histogram('{2:2000000000, 9:5}'::coco, 1.0)) AS groups,
       abs(dp_entities(dp_coco_histogram('{2:2000000000, 9:5}'::coco, 1.0)) - 4000000045) < 100000 AS near;

SELECT * FROM dp_unnest('{1:2, 2:1, 4:1}');
SELECT dp_groups(h), dp_entities(h), dp_quantile(h, 0), dp_quantile(h, 0.5) AS median, dp_quantile(h, 1) AS largest,
       dp_mean_size(h), dp_gini(h) FROM (VALUES ('{1:2, 2:1, 4:1}'::dp_coco), ('{0:3}'), ('{}'), (NULL)) AS v(h);
SELECT dp_emd('{1:2, 2:1, 4:1}', '{1:2, 2:1, 4:1}') AS none, dp_emd('{1:100}', '{2:100}') AS a_hundred,
       dp_emd('{1:1, 5:1}', '{3:2}') AS four, dp_emd(NULL, '{}') AS unknown;

SELECT e.* FROM (VALUES ('NULL::coco, 1.0'), ('''{1:1}''::coco, NULL'), ('''{1:1}''::coco, 0'), ('''{1:1}''::coco, -1'), ('''{1:1}''::coco, ''NaN'''),
                        ('''{1:1}''::coco, ''Infinity'''), ('''{1:1}''::coco, 1e-10'), ('''{1:1}''::coco, 2e6'),
                        ('''{1:1}''::coco, 1, 0'), ('''{1:1}''::coco, 1, -5'), ('''{1:1}''::coco, 1, 5000001'),
                        ('''{1:1}''::coco, 1, method => ''pgsr'''), ('''{1:1}''::coco, 1, method => ''cut:'''),
                        ('''{1:1}''::coco, 1, 5, ''cut:6'''), ('''{1:1}''::coco, 1, dataset => ''nowhere'''))
         AS bad(arguments), error_of(format('SELECT dp_coco_histogram(%s)', arguments)) AS e;
SELECT * FROM error_of($$SELECT dp_quantile('{1:1}', 1.5)$$);
SELECT * FROM error_of($$SELECT dp_quantile('{1:1}', NULL)$$);
SELECT * FROM error_of($$SELECT dp_emd('{1:1}', '{1:2}')$$);
