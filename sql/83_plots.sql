-- Stored releases as plots -----------------------------------------------------------------------

-- What is called in the extension's schema is given all arguments in their exact types: whoever may
-- create functions there can make none that fits better.
CREATE FUNCTION dp.plot_of_sizes(dataset text, release text, path text[])
    RETURNS TABLE (n bigint, label text, value float8, lower float8, upper float8)
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 25 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    region record;
    largest bigint;
    starts bigint[]; -- of the rows' sizes; the last row ends before the last start
BEGIN
    SELECT r.groups, r.p90 INTO region FROM dp.release_regions AS r
     WHERE (r.dataset, r.release, r.path) = ($1, $2, $3);
    SELECT max(s.size) INTO largest FROM dp.release_rows AS s
     WHERE (s.dataset, s.release, s.path) = ($1, $2, $3);
    IF largest < 25 THEN
        starts := ARRAY(SELECT generate_series(0, largest + 1));
    ELSIF region.p90 < 24 THEN -- single sizes tell of nine groups in ten
        starts := ARRAY(SELECT generate_series(0, 24)) || '{NULL}';
    ELSE -- the bands of dp.release_sizes
        starts := ARRAY(SELECT 0 UNION ALL
                        SELECT f * (10 ^ k)::bigint
                          FROM generate_series(0, 6) AS k, unnest('{1,2,5}'::int[]) AS f
                         WHERE k < 6 OR f = 1 ORDER BY 1) || '{NULL}';
    END IF;

    RETURN QUERY
    WITH bar AS (
        SELECT i.statistic, i.size, i.value, i.lower, i.upper, width_bucket(i.size, b.starts) AS n
          FROM @extschema@.dp_hierarchy_intervals($1, $2, 0.9::float8, false) AS i,
               (SELECT array_remove(starts, NULL) AS starts) AS b
         WHERE i.path = $3
    ), up_to AS ( -- at the largest size of each row that was released
        SELECT DISTINCT ON (b.n) b.n, b.value, b.lower, b.upper
          FROM bar AS b WHERE b.statistic = 'groups_up_to_size' ORDER BY b.n, b.size DESC
    ), up_to_both AS (
        SELECT u.*, coalesce(lag(u.value) OVER by_n, 0) AS value_before,
               coalesce(lag(u.lower) OVER by_n, 0) AS lower_before,
               coalesce(lag(u.upper) OVER by_n, 0) AS upper_before
          FROM up_to AS u WINDOW by_n AS (ORDER BY u.n)
    ), drawn AS (
        SELECT n::bigint, starts[n] AS first, starts[n + 1] - 1 AS last
          FROM generate_series((SELECT min(u.n) FROM up_to AS u),
                               (SELECT max(u.n) FROM up_to AS u)) AS n
    ), numbers AS (
        SELECT d.n, d.first, d.last, coalesce(s.value, u.value - u.value_before, 0) AS value,
               -- a difference of two numbers is off by at most both their bars
               CASE WHEN u.n IS NULL THEN NULL -- a row without a released size
                    ELSE coalesce(s.lower, greatest(u.lower - u.upper_before, 0)) END AS lower,
               CASE WHEN u.n IS NULL THEN NULL
                    ELSE coalesce(s.upper, least(u.upper - u.lower_before, region.groups)) END
               AS upper
          FROM drawn AS d
          LEFT JOIN up_to_both AS u ON u.n = d.n
          LEFT JOIN bar AS s ON s.statistic = 'groups_of_size' AND s.n = d.n AND d.first = d.last
    )
    SELECT m.n, CASE WHEN m.last IS NULL THEN m.first || '+'
                     WHEN m.first = m.last THEN m.first::text
                     ELSE m.first || '-' || m.last END,
           m.value, m.lower, m.upper
      FROM numbers AS m;
END $$;
COMMENT ON FUNCTION dp.plot_of_sizes(text, text, text[]) IS
    'inside of dp_plot: the rows of a histogram, sizes or bands of them';

CREATE FUNCTION dp.plot_time(bound text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN bound ~ '^[0-9]{4}-[0-9-]{5}T[0-9:]{8}(\.[0-9]+)?\+00:00$'
            THEN concat(to_char(bound::timestamptz, 'YYYY-MM-DD"T"HH24:MI:SS'),
                        substring(bound FROM '\.[0-9]+'), to_char(bound::timestamptz, 'TZH:TZM'))
            ELSE bound END;
COMMENT ON FUNCTION dp.plot_time(text) IS
    'inside of dp_plot: a time in UTC as the session''s clock tells it, and whatever else as it is';

CREATE FUNCTION dp.plot_of_ranges(dataset text, release text, path text[], grain text)
    RETURNS TABLE (n bigint, label text, value float8, lower float8, upper float8)
    LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 25 SET search_path = pg_catalog, pg_temp
AS $$
    WITH of_release AS (
        SELECT r.grain, r.lower_bound AS begin, r.upper_bound AS "end", r.sum, r.low, r.high
          FROM dp.range_rows AS r WHERE (r.dataset, r.release) = ($1, $2)
        UNION ALL
        SELECT r.grain, r.lower_bound, r.upper_bound, r.sum, r.low, r.high
          FROM dp.region_range_rows AS r WHERE (r.dataset, r.release, r.path) = ($1, $2, $3)
        UNION ALL
        SELECT 'tick', t.lower_bound, t.upper_bound, t.count,
               t.count - 1.6448536269514722 * t.stddev, t.count + 1.6448536269514722 * t.stddev
          FROM dp.stream_ticks AS t WHERE (t.dataset, t.stream) = ($1, $2)
    ), places AS (
        SELECT o.*, CASE WHEN o.begin ~ '^-?[0-9]+$' THEN o.begin::numeric END AS first,
               CASE WHEN o."end" ~ '^-?[0-9]+$' THEN o."end"::numeric END AS past
          FROM of_release AS o
    ), neighbours AS (
        SELECT p.*, coalesce(lag(p.past) OVER in_order <= p.first,
                             lag(p."end") OVER in_order <= p.begin,
                             row_number() OVER in_order = 1) AS is_apart
          FROM places AS p
        WINDOW in_order AS (ORDER BY p.begin IS NOT NULL, p.first, p.begin, p.past, p."end")
    ), chosen AS (
        SELECT p.* FROM neighbours AS p
         WHERE p.grain = coalesce($4, CASE
                   -- all of them have their place beside each other
                   WHEN (SELECT bool_and(a.is_apart) FROM neighbours AS a) THEN p.grain
                   ELSE (SELECT g.grain FROM of_release AS g
                          GROUP BY g.grain ORDER BY count(*) DESC, g.grain LIMIT 1) END)
    ), shown AS (
        SELECT c.*, dp.plot_time(c.begin) AS since, dp.plot_time(c."end") AS until FROM chosen AS c
    )
    SELECT row_number() OVER (ORDER BY s.begin IS NOT NULL, s.first, s.begin, s.past, s."end"),
           CASE WHEN s.grain <> 'open' AND l.is_one THEN l.since
                ELSE concat(CASE WHEN l.since IS NULL THEN '(' ELSE '[' END, l.since, ',',
                            l.until, ')') END,
           s.sum, round(s.low::numeric, 1)::float8, round(s.high::numeric, 1)::float8
      FROM shown AS s
     CROSS JOIN LATERAL (
        SELECT (SELECT count(DISTINCT c.grain) = 1 FROM chosen AS c),
               regexp_replace(s.since, 'T00:00:00([+-][0-9:]+)?$', ''),
               regexp_replace(s.until, 'T00:00:00([+-][0-9:]+)?$', '')) AS l (is_one, since, until)
$$;
COMMENT ON FUNCTION dp.plot_of_ranges(text, text, text[], text) IS
    'inside of dp_plot: ranges of one length, or all if none overlap, and ticks';

CREATE FUNCTION @extschema@.dp_plot(
        dataset text, release text, path text[] DEFAULT '{}', grain text DEFAULT NULL)
    RETURNS TABLE (label text, value float8, lower float8, upper float8, plot text)
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 25 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cells CONSTANT int := 40; -- of the widest bar
    made_by text;
    of_sizes boolean;
BEGIN
    IF dataset IS NULL OR release IS NULL OR path IS NULL THEN
        RAISE '% must not be NULL', CASE WHEN dataset IS NULL THEN 'dataset'
                                         WHEN release IS NULL THEN 'release' ELSE 'path' END
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'Name a stored release, and the path of a region: {} for the root.';
    END IF;

    SELECT r.function INTO made_by FROM dp.releases AS r
     WHERE (r.dataset, r.name) = ($1, $2) AND r.status <> 'retracted';
    of_sizes := made_by IN ('dp_hierarchy_release', 'dp_coco_histogram');
    IF made_by IS NULL AND EXISTS (SELECT FROM dp.releases AS r
                                    WHERE (r.dataset, r.name) = ($1, $2)) THEN
        RAISE 'release "%" of dataset "%" was retracted', $2, $1
            USING ERRCODE = 'undefined_object',
                  HINT = 'Nobody sees its numbers; dp.releases shows since when. The dataset''s'
                         ' owner can publish it again with dp_set_status.';
    ELSIF made_by IS NULL THEN
        RAISE 'release "%" of dataset "%" does not exist', $2, $1
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.releases lists the stored releases.';
    ELSIF made_by IN ('dp_rectangle_sums', 'dp_grid_release') THEN
        RAISE 'release "%" of dataset "%" is of rectangles: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.rectangle_rows shows them.';
    ELSIF made_by = 'dp_find_regions' THEN
        RAISE 'release "%" of dataset "%" is of regions that were found: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.found_regions shows them.';
    ELSIF made_by = 'dp_find_bound' THEN
        RAISE 'release "%" of dataset "%" is of a bound that was chosen: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.found_bounds shows it.';
    ELSIF of_sizes AND NOT EXISTS (SELECT FROM dp.release_regions AS r
                                    WHERE (r.dataset, r.release, r.path) = ($1, $2, $3)) THEN
        RAISE 'release "%" of dataset "%" has no region %', $2, $1, $3
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.release_regions lists the regions, each with its path.';
    ELSIF made_by LIKE 'dp_region_range_%' AND NOT EXISTS (
            SELECT FROM dp.region_range_rows AS r
             WHERE (r.dataset, r.release, r.path) = ($1, $2, $3)) THEN
        RAISE 'release "%" of dataset "%" has no region %', $2, $1, $3
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.region_range_rows shows the regions, each with its path.';
    ELSIF NOT of_sizes AND made_by NOT LIKE 'dp_region_range_%' AND $3 <> '{}' THEN
        RAISE 'release "%" of dataset "%" has no regions', $2, $1
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out path.';
    ELSIF $4 IS NOT NULL AND (of_sizes OR made_by = 'dp_stream_create') THEN
        RAISE 'release "%" of dataset "%" has no grain', $2, $1
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out grain.';
    ELSIF $4 IS NOT NULL AND NOT EXISTS (SELECT FROM dp.plot_of_ranges($1, $2, $3, $4)) THEN
        RAISE 'release "%" of dataset "%" has no range of grain "%"', $2, $1, $4
            USING ERRCODE = 'undefined_object',
                  HINT = 'The views dp.range_rows and dp.region_range_rows show the ranges, each'
                         ' with its grain.';
    END IF;

    RETURN QUERY
    WITH numbers AS (
        SELECT * FROM dp.plot_of_sizes($1, $2, $3) WHERE of_sizes
        UNION ALL
        SELECT * FROM dp.plot_of_ranges($1, $2, $3, $4) WHERE NOT of_sizes
    ), scaled AS (
        SELECT m.*, cells / nullif(greatest(max(coalesce(m.upper, m.value)) OVER (), 0), 0) AS scale
          FROM numbers AS m
    )
    SELECT s.label, s.value, s.lower, s.upper,
           CASE WHEN s.value > 0 AND c.upper = 0 THEN '▏' -- too small for a cell
                ELSE repeat('█', c.lower) || repeat('▒', c.value - c.lower)
                     || repeat('░', c.upper - c.value) END
      FROM scaled AS s
     CROSS JOIN LATERAL (
        SELECT coalesce(round(greatest(s.lower, 0) * s.scale)::int, 0) AS lower,
               coalesce(round(greatest(s.value, 0) * s.scale)::int, 0) AS value,
               coalesce(round(greatest(s.upper, 0) * s.scale)::int, 0) AS upper) AS c
     ORDER BY s.n;
END $$;
COMMENT ON FUNCTION @extschema@.dp_plot(text, text, text[], text) IS
    'draws a region or the ranges of a stored release as text, with error bars';

CREATE FUNCTION dp.svg_text(shown text, most int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
-- control characters have no place in XML
RETURN replace(replace(replace(dp.in_a_line(
           CASE WHEN length(shown) > most THEN left(shown, most - 1) || '…' ELSE shown END, ' '),
           '&', '&amp;'), '<', '&lt;'), '>', '&gt;');
COMMENT ON FUNCTION dp.svg_text(text, int) IS
    'inside of dp_plot_svg: a name as text of XML, with that many characters at most';

CREATE FUNCTION @extschema@.dp_plot_svg(
        dataset text, release text, path text[] DEFAULT '{}', grain text DEFAULT NULL)
    RETURNS text LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- where the axes are, in a picture of 720 by 400
    edge int;
    top CONSTANT int := 64;
    bottom int := 340;
    rows int;
    every int := 1; -- which of the labels are written
    labels text[];
    longest int;
    slot numeric; -- the width of a row
    "values" numeric[];
    lowers numeric[];
    uppers numeric[];
    lowest numeric;
    highest numeric;
    step numeric; -- between the marks of the axis of numbers
    marks int[]; -- the first and the last one, in steps
    scale numeric;
    zero numeric; -- where the bars begin
    asked record; -- the release
    of_sizes boolean;
    are_bars boolean;
    title text;
    subtitle text;
    drawn text;
BEGIN
    SELECT count(*), array_agg(dp.svg_text(p.label, 28) ORDER BY p.n),
           coalesce(least(max(length(p.label)), 28), 0),
           array_agg(p.value::numeric ORDER BY p.n), array_agg(p.lower::numeric ORDER BY p.n),
           array_agg(p.upper::numeric ORDER BY p.n),
           least(min(coalesce(p.lower, p.value)), 0)::numeric,
           greatest(max(coalesce(p.upper, p.value)), 0)::numeric
      INTO rows, labels, longest, "values", lowers, uppers, lowest, highest
      FROM @extschema@.dp_plot($1, $2, $3, $4)
           WITH ORDINALITY AS p (label, value, lower, upper, plot, n);
    SELECT r.function, r.title, r.parameters ->> 'amount' AS amount INTO asked
      FROM dp.releases AS r WHERE (r.dataset, r.name) = ($1, $2) AND r.status <> 'retracted';
    of_sizes := asked.function IN ('dp_hierarchy_release', 'dp_coco_histogram');
    are_bars := of_sizes OR rows <= 24;
    IF asked.amount IS NULL THEN -- there are no fewer rows than none
        lowest := 0;
    END IF;

    -- 1, 2, 5, 10, ... so that there are five marks at most, and one at the other end
    SELECT min(s.n) INTO step
      FROM (SELECT f * 10::numeric ^ k AS n
              FROM unnest('{1,2,5}'::int[]) AS f, generate_series(0, 19) AS k) AS s
     WHERE s.n * 5 >= highest - lowest;
    marks := ARRAY[floor(lowest / step), ceil(highest / step)];
    IF marks[1] = marks[2] THEN
        marks[2] := 1;
    END IF;
    edge := greatest(
        50 + 7 * (SELECT max(length(to_char(step * m, 'FM999,999,999,999,999,999,999')))
                    FROM unnest(marks) AS m), 5 * longest);
    slot := (700 - edge) / greatest(rows, 1)::numeric;
    IF slot < 7 * longest + 6 THEN -- they are written aslant
        bottom := 346 - 5 * longest;
        every := ceil(22 / slot);
    END IF;
    scale := (bottom - top) / (step * (marks[2] - marks[1]));
    zero := round(bottom + marks[1] * step * scale, 1);

    title := dp.svg_text(coalesce(asked.title, dataset || ', ' || release)
                         || CASE WHEN path = '{}' THEN ''
                                 ELSE ': ' || array_to_string(path, ', ') END, 80);
    subtitle := CASE
        WHEN rows = 0 THEN CASE WHEN of_sizes THEN 'No groups' ELSE 'Nothing yet' END
        WHEN of_sizes THEN 'Groups by the number of their entities'
        WHEN asked.amount IS NULL THEN 'Rows in each range'
        ELSE 'Sum of ' || dp.svg_text(asked.amount, 40) || ' in each range' END
        || CASE WHEN rows = 0 THEN '' WHEN are_bars THEN ', with 90 % error bars'
                ELSE ', with a band of 90 %' END;

    SELECT CASE WHEN are_bars THEN
               string_agg(concat_ws(E'\n',
                   format('<rect x="%s" y="%s" width="%s" height="%s" fill="#6b9ac4"/>',
                          round(r.x - slot * 0.4, 1), least(r.value, zero), round(slot * 0.8, 1),
                          abs(r.value - zero)),
                   format('<path d="M%s %sV%sm-4 0h8M%s %sh8" stroke="#222" fill="none"/>',
                          r.x, r.lower, r.upper, r.x - 4, r.lower)), E'\n' ORDER BY r.n)
           ELSE concat_ws(E'\n',
               format('<polygon points="%s %s" fill="#c9daea"/>',
                      string_agg(r.x || ',' || r.upper, ' ' ORDER BY r.n),
                      string_agg(r.x || ',' || r.lower, ' ' ORDER BY r.n DESC)),
               format('<polyline points="%s" stroke="#2f6193" stroke-width="1.5" fill="none"/>',
                      string_agg(r.x || ',' || r.value, ' ' ORDER BY r.n))) END
           || E'\n' ||
           string_agg(CASE WHEN slot < 7 * longest + 6
                           THEN format('<text text-anchor="end" transform="translate(%s %s) '
                                       'rotate(-40)">%s</text>', r.x + 4, bottom + 14, r.label)
                           ELSE format('<text x="%s" y="%s" text-anchor="middle">%s</text>',
                                       r.x, bottom + 18, r.label) END, E'\n' ORDER BY r.n)
               FILTER (WHERE (r.n - 1) % every = 0)
      INTO drawn
      FROM (SELECT b.n, b.label, round(edge + slot * (b.n - 0.5), 1) AS x,
                   round(zero - greatest(b.value, lowest) * scale, 1) AS value,
                   round(zero - greatest(b.lower, lowest) * scale, 1) AS lower,
                   round(zero - greatest(b.upper, lowest) * scale, 1) AS upper
              FROM unnest(labels, "values", lowers, uppers)
                   WITH ORDINALITY AS b (label, value, lower, upper, n)) AS r;

    RETURN concat_ws(E'\n',
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" width="720" height="400"'
        ' font-family="sans-serif" font-size="12" fill="#222" role="img">',
        format('<title>%s</title>', title),
        '<rect width="720" height="400" fill="white"/>',
        format('<text x="%s" y="24" font-size="16">%s</text>', edge, title),
        format('<text x="%s" y="44" fill="#666">%s</text>', edge, subtitle),
        (SELECT string_agg(format(
                    '<path d="M%s %sH700" stroke="%s"/>'
                    '<text x="%s" y="%s" text-anchor="end">%s</text>',
                    edge, m.y, CASE WHEN i = 0 THEN '#222' ELSE '#ddd' END, edge - 8, m.y + 4,
                    to_char(step * i, 'FM999,999,999,999,999,999,990')), E'\n' ORDER BY i)
           FROM generate_series(marks[1], marks[2]) AS i
          CROSS JOIN LATERAL (SELECT round(zero - step * i * scale, 1) AS y) AS m),
        drawn,
        format('<text x="%s" y="390" text-anchor="middle">%s</text>', (edge + 700) / 2,
               CASE WHEN of_sizes THEN 'entities in a group'
                    WHEN labels[1] ~ '^[[(]' THEN 'range'
                    ELSE 'beginning of the range' END),
        format('<text text-anchor="middle" transform="translate(20 %s) rotate(-90)">%s</text>',
               (bottom + top) / 2, CASE WHEN of_sizes THEN 'groups'
                                        ELSE dp.svg_text(coalesce(asked.amount, 'rows'), 40) END),
        '</svg>');
END $$;
COMMENT ON FUNCTION @extschema@.dp_plot_svg(text, text, text[], text) IS
    'draws a region or the ranges of a stored release as an SVG picture, with error bars';
