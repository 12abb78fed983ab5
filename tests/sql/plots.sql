-- Plots of stored releases. The noise of epsilon = 1e6 is 0.
CREATE TABLE household (id int PRIMARY KEY, state text NOT NULL, persons bigint NOT NULL);
INSERT INTO household VALUES (1, 'A', 0), (2, 'A', 1), (3, 'A', 1), (4, 'A', 4), (5, 'B', 7), (6, 'B', 300), (7, 'B', 25);
INSERT INTO household SELECT i, E'<C & "D">\x01', CASE WHEN i < 110 THEN 1 + i % 3 ELSE 23 + i % 40 END FROM generate_series(10, 117) AS i;
SELECT dp_create_dataset('<h&m>', 'household', '{}', '{state}', size_column => 'persons', epsilon_budget => 1e9);
SELECT count(*) FROM dp_hierarchy_release('<h&m>', 1e6, name => 'v"1''', estimators => '{Hg}');
-- sizes one by one, with those in between; bands, one of them without a size; one by one and all larger ones
SELECT * FROM dp_plot('<h&m>', 'v"1''', '{A}');
SELECT * FROM dp_plot('<h&m>', 'v"1''', '{B}');
SELECT label, value, lower, upper FROM dp_plot('<h&m>', 'v"1''', ARRAY[E'<C & "D">\x01']);

-- the bands are those of dp.release_sizes; every group is in one row
CREATE TABLE firm (place text, staff bigint);
INSERT INTO firm SELECT 'ladder', f * 10::numeric ^ k + d FROM generate_series(0, 6) AS k, unnest('{1,2,5}'::int[]) AS f, unnest('{-1,0}'::int[]) AS d WHERE f * 10::numeric ^ k <= 2000000;
SELECT dp_create_dataset('firms', 'firm', '{}', '{place}', size_column => 'staff', epsilon_budget => 1e9);
SELECT count(*) FROM dp_hierarchy_release('firms', 1e6, '{Hg}', max_size => 5000000, name => 'v1');
SELECT count(*) AS bands, bool_and(p.label = s.size_band AND p.value = s.groups) AS same
  FROM dp_plot('firms', 'v1') WITH ORDINALITY AS p (label, value, lower, upper, plot, n)
  FULL JOIN (SELECT size_band_order + 1, size_band, sum(groups) FROM dp.release_sizes WHERE dataset = 'firms' AND level = 0 GROUP BY 1, 2) AS s (n, size_band, groups) USING (n);

-- bars with noise: around what was released, within what is possible, cells as the numbers say
SELECT count(*) > 0 AS released FROM dp_hierarchy_release('<h&m>', 0.5, name => 'noisy');
SELECT bool_and(lower <= value AND value <= upper AND lower >= 0 AND upper <= 115) AS possible, bool_or(lower < upper) AS wide,
       sum(value) AS groups, max(length(plot)) <= 40 AS short
  FROM dp_plot('<h&m>', 'noisy');

-- pictures are XML, whatever the names are, and the same each time
SELECT (xpath('/s:svg/s:title/text()', x, '{{s,http://www.w3.org/2000/svg}}'))[1] AS title,
       cardinality(xpath('//s:rect', x, '{{s,http://www.w3.org/2000/svg}}')) - 1 AS bars
  FROM (SELECT dp_plot_svg('<h&m>', 'v"1''', p.path)::xml FROM (VALUES ('{}'::text[]), ('{B}'), (ARRAY[E'<C & "D">\x01'])) AS p (path)) AS svg (x);
SELECT dp_plot_svg('<h&m>', 'noisy') = dp_plot_svg('<h&m>', 'noisy') AS same;

-- without groups; with more than there are people; under a long name
CREATE TABLE sums (place text, h coco);
INSERT INTO sums VALUES ('none', '{}'), ('huge', '{0:3, 3:4611686018427387904}');
SELECT dp_create_dataset('sums', 'sums', '{}', '{place}', size_column => 'h', epsilon_budget => 1e9);
SELECT count(*) FROM dp_hierarchy_release('sums', 1e6, '{Hc}', max_size => 10, name => repeat('long', 50));
SELECT path, p.* FROM dp.release_regions AS r, LATERAL dp_plot(dataset, release, path) AS p WHERE dataset = 'sums' AND level = 1;
SELECT region, cardinality(xpath('//s:rect', x, '{{s,http://www.w3.org/2000/svg}}')) - 1 AS bars,
       length((xpath('/s:svg/s:title/text()', x, '{{s,http://www.w3.org/2000/svg}}'))[1]::text) AS title
  FROM dp.release_regions AS r, LATERAL (SELECT dp_plot_svg(dataset, release, path)::xml) AS svg (x) WHERE dataset = 'sums' ORDER BY level, region;

-- ranges: of the grain with the most, or the one that is asked for; without a beginning; numbers in their order
SELECT dp_create_dataset('ages', 'household', '{id}', '{}', epsilon_budget => 1e9);
SELECT count(*) FROM dp_range_sums('ages', 'persons', '{"[0,10)","[10,20)","[2,12)","[0,100)","(,5)"}', 1e6, name => 'v1');
SELECT * FROM dp_plot('ages', 'v1');
SELECT * FROM dp_plot('ages', 'v1', grain => '100');
SELECT * FROM dp_plot('ages', 'v1', grain => 'open');
SELECT cardinality(xpath('//s:rect', x, '{{s,http://www.w3.org/2000/svg}}')) - 1 AS bars FROM (SELECT dp_plot_svg('ages', 'v1')::xml) AS svg (x);

-- ranges of several lengths that lie beside each other: all of them, and many as a line
SELECT count(*) FROM dp_range_sums('ages', 'persons', '{"[18,65)","[0,18)","[65,)"}', 1e6, name => 'uneven');
SELECT * FROM dp_plot('ages', 'uneven');
SELECT * FROM dp_plot('ages', 'uneven', grain => '18');
SELECT count(*) FROM dp_range_sums('ages', 'persons', ARRAY(SELECT int8range(n, n + 1) FROM generate_series(0, 24) AS n), 1e6, name => 'many');
SELECT cardinality(xpath('//s:rect', x, '{{s,http://www.w3.org/2000/svg}}')) - 1 AS bars,
       cardinality(xpath('//s:polyline', x, '{{s,http://www.w3.org/2000/svg}}')) AS lines FROM (SELECT dp_plot_svg('ages', 'many')::xml) AS svg (x);

-- by region
CREATE TABLE house AS SELECT id AS house, state FROM household;
CREATE TABLE visit AS SELECT id AS house, persons, id * 10 - 60 AS paid, timestamptz '2025-01-15 12:00+00' + id * interval '1 month' AS "when"
  FROM household WHERE id < 8;
SELECT dp_create_dataset('visits', 'visit', '{house}', '{state}', 'house', epsilon_budget => 1e9);
SELECT count(*) FROM dp_region_range_sums('visits', 'persons', '{"[0,2)","[2,)"}', 1e6, name => 'by state');
SELECT * FROM dp_plot('visits', 'by state', '{A}');
SELECT sum(value) FROM dp_plot('visits', 'by state');

-- amounts below 0, by months of the reader's clock, under a title; of rows nothing is below 0
SET timezone = 'Europe/Berlin';
SELECT count(*) FROM dp_range_sums('visits', 'when', '{"[2025-02-01,2025-03-01)","[2025-08-01,2025-09-01)"}'::tstzrange[], '1 hour', 1e6, amount => 'paid', min_amount => -100, max_amount => 100, name => 'paid');
CALL dp_describe_release('visits', 'paid', 'What was <paid>');
SELECT * FROM dp_plot('visits', 'paid');
SELECT count(*) FROM dp_range_sums('visits', 'when', '{"[2025-02-15 12:00:00.5+00,2025-02-15 12:00:01+00)","[2025-02-15 12:00:01+00,2025-02-15 12:01+00)"}'::tstzrange[], '500 ms', 1e6, name => 'fine');
SELECT label FROM dp_plot('visits', 'fine');
RESET timezone;
-- long labels are cut
SELECT (xpath('//s:rect[2]/@y', x, '{{s,http://www.w3.org/2000/svg}}'))[1] AS top, (xpath('//s:text[contains(., "…")]/text()', x, '{{s,http://www.w3.org/2000/svg}}'))[1] AS label
  FROM (SELECT dp_plot_svg('visits', 'fine')::xml) AS svg (x);
SELECT (xpath('/s:svg/s:title/text()', x, '{{s,http://www.w3.org/2000/svg}}'))[1] AS title,
       (xpath('//s:text[contains(., "Sum")]/text()', x, '{{s,http://www.w3.org/2000/svg}}'))[1] AS what,
       xpath('//s:rect/@height', x, '{{s,http://www.w3.org/2000/svg}}') AS heights,
       xpath('//s:text[@text-anchor="end" and @x]/text()', x, '{{s,http://www.w3.org/2000/svg}}') AS marks
  FROM (SELECT dp_plot_svg('visits', 'paid')::xml) AS svg (x);

-- for everyone who may read the release
CREATE ROLE dp_test_reader;
SET ROLE dp_test_reader;
SELECT count(*) FROM dp_plot('ages', 'v1');
SELECT count(*) > 0 AS drawn FROM dp_plot('firms', 'v1');
RESET ROLE;
DROP ROLE dp_test_reader;

-- errors
SELECT * FROM error_of($$SELECT dp_plot(NULL, 'v1')$$);
SELECT * FROM error_of($$SELECT dp_plot_svg('ages', NULL)$$);
SELECT * FROM error_of($$SELECT dp_plot('ages', 'v1', NULL)$$);
SELECT * FROM error_of($$SELECT dp_plot('ages', 'v2')$$);
SELECT * FROM error_of($$SELECT dp_plot('nowhere', 'v1')$$);
SELECT * FROM error_of($$SELECT dp_plot('firms', 'v1', '{nowhere}')$$);
SELECT * FROM error_of($$SELECT dp_plot('firms', 'v1', grain => 'day')$$);
SELECT * FROM error_of($$SELECT dp_plot('ages', 'v1', '{A}')$$);
SELECT * FROM error_of($$SELECT dp_plot('ages', 'v1', grain => 'day')$$);
SELECT * FROM error_of($$SELECT dp_plot('visits', 'by state', '{Z}')$$);
-- needs: xml
-- what ends lines, moves text or is not seen is a blank, and several blanks are one
SELECT dp.svg_text(E'a\u202Eb\u0085c\u2028d\u200Be \u00A0  f\u200Dg <&>', 40);
