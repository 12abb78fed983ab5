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

CREATE FUNCTION @extschema@.dp_plot(
        dataset text, release text, path text[] DEFAULT '{}', grain text DEFAULT NULL)
    RETURNS TABLE (label text, value float8, lower float8, upper float8, plot text)
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 25 SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cells CONSTANT int := 40; -- of the widest bar
    of_sizes boolean;
BEGIN
    IF dataset IS NULL OR release IS NULL OR path IS NULL THEN
        RAISE '% must not be NULL', CASE WHEN dataset IS NULL THEN 'dataset'
                                         WHEN release IS NULL THEN 'release' ELSE 'path' END
            USING ERRCODE = 'null_value_not_allowed',
                  HINT = 'Name a stored release, and the path of a region: {} for the root.';
    END IF;

    of_sizes := EXISTS (SELECT FROM dp.release_regions AS r
                         WHERE (r.dataset, r.release) = ($1, $2));
    IF of_sizes AND NOT EXISTS (SELECT FROM dp.release_regions AS r
                                 WHERE (r.dataset, r.release, r.path) = ($1, $2, $3)) THEN
        RAISE 'release "%" of dataset "%" has no region %', $2, $1, $3
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.release_regions lists the regions, each with its path.';
    ELSIF EXISTS (SELECT FROM dp.releases AS r
                   WHERE (r.dataset, r.name) = ($1, $2) AND r.status <> 'retracted'
                     AND r.function IN ('dp_region_range_sums', 'dp_region_range_release',
                                        'dp_rectangle_sums', 'dp_grid_release')) THEN
        RAISE 'release "%" of dataset "%" is of ranges by region or of rectangles: no plot of these',
              $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The views dp.region_range_rows and dp.rectangle_rows show them.';
    ELSIF EXISTS (SELECT FROM dp.releases AS r
                   WHERE (r.dataset, r.name) = ($1, $2) AND r.status <> 'retracted'
                     AND r.function = 'dp_find_regions') THEN
        RAISE 'release "%" of dataset "%" is of regions that were found: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.found_regions shows them.';
    ELSIF EXISTS (SELECT FROM dp.releases AS r
                   WHERE (r.dataset, r.name) = ($1, $2) AND r.status <> 'retracted'
                     AND r.function = 'dp_find_bound') THEN
        RAISE 'release "%" of dataset "%" is of a bound that was chosen: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.found_bounds shows it.';
    ELSIF EXISTS (SELECT FROM dp.streams AS s WHERE (s.dataset, s.stream) = ($1, $2)) THEN
        RAISE 'release "%" of dataset "%" is a stream: no plot of these', $2, $1
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'The view dp.stream_ticks shows its ticks; dp_create_view makes one for'
                         ' dashboards.';
    ELSIF NOT of_sizes AND NOT EXISTS (SELECT FROM dp.range_rows AS r
                                        WHERE (r.dataset, r.release) = ($1, $2)) THEN
        RAISE 'release "%" of dataset "%" does not exist', $2, $1
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.releases lists the stored releases.';
    ELSIF NOT of_sizes AND $3 <> '{}' THEN
        RAISE 'release "%" of dataset "%" is of ranges, which has no regions', $2, $1
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out path.';
    ELSIF of_sizes AND $4 IS NOT NULL THEN
        RAISE 'release "%" of dataset "%" is of sizes, which has no grain', $2, $1
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Leave out grain.';
    ELSIF $4 IS NOT NULL AND NOT EXISTS (SELECT FROM dp.range_rows AS r
                                         WHERE (r.dataset, r.release, r.grain) = ($1, $2, $4)) THEN
        RAISE 'release "%" of dataset "%" has no range of grain "%"', $2, $1, $4
            USING ERRCODE = 'undefined_object',
                  HINT = 'The view dp.range_rows shows the ranges, each with its grain.';
    END IF;

    RETURN QUERY
    WITH numbers AS (
        SELECT * FROM dp.plot_of_sizes($1, $2, $3) WHERE of_sizes
        UNION ALL
        SELECT row_number() OVER (ORDER BY CASE WHEN r.lower_bound ~ '^-?[0-9]+$'
                                                THEN r.lower_bound::numeric END, r.lower_bound),
               coalesce(regexp_replace(r.lower_bound, 'T00:00:00$', ''), '(before)'),
               r.sum, round(r.low::numeric, 1)::float8, round(r.high::numeric, 1)::float8
          FROM dp.range_rows AS r
         WHERE (r.dataset, r.release) = ($1, $2) AND NOT of_sizes
           AND r.grain = coalesce($4, (SELECT g.grain FROM dp.range_rows AS g
                                        WHERE (g.dataset, g.release) = ($1, $2)
                                        GROUP BY g.grain ORDER BY count(*) DESC, g.grain LIMIT 1))
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

CREATE FUNCTION @extschema@.dp_plot_svg(
        dataset text, release text, path text[] DEFAULT '{}', grain text DEFAULT NULL)
    RETURNS text LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- where the axes are, in a picture of 720 by 400
    edge int;
    top CONSTANT int := 64;
    floor int := 340;
    rows int;
    every int := 1; -- which of the labels are written
    labels text[];
    longest int;
    slot numeric; -- the width of a row
    "values" numeric[];
    lowers numeric[];
    uppers numeric[];
    most numeric;
    step numeric; -- between the marks of the axis of numbers
    marks int;
    title text;
    of_sizes boolean;
    drawn text;
BEGIN
    SELECT count(*), array_agg(p.label ORDER BY p.n), coalesce(max(length(p.label)), 0),
           array_agg(p.value::numeric ORDER BY p.n), array_agg(p.lower::numeric ORDER BY p.n),
           array_agg(p.upper::numeric ORDER BY p.n),
           coalesce(max(coalesce(p.upper, p.value)), 0)::numeric
      INTO rows, labels, longest, "values", lowers, uppers, most
      FROM @extschema@.dp_plot($1, $2, $3, $4)
           WITH ORDINALITY AS p (label, value, lower, upper, plot, n);

    -- 1, 2, 5, 10, ... so that there are five marks at most
    SELECT min(s.n) INTO step
      FROM (SELECT f * 10::numeric ^ k AS n
              FROM unnest('{1,2,5}'::int[]) AS f, generate_series(0, 19) AS k) AS s
     WHERE s.n * 5 >= most;
    marks := greatest(ceil(most / step), 1);
    edge := greatest(50 + 7 * length(to_char(step * marks, 'FM999,999,999,999,999,999,999')),
                     5 * longest);
    slot := (700 - edge) / greatest(rows, 1)::numeric;
    IF slot < 7 * longest + 6 THEN -- they are written aslant
        floor := 346 - 5 * longest;
        every := ceil(22 / slot);
    END IF;

    title := concat_ws(': ', dataset || ', ' || release,
                       (SELECT r.region FROM dp.release_regions AS r
                         WHERE (r.dataset, r.release, r.path) = ($1, $2, $3) AND r.level > 0));
    title := CASE WHEN length(title) > 80 THEN left(title, 79) || '…' ELSE title END;
    -- control characters have no place in XML
    title := regexp_replace(title, '[\x01-\x1f\ufffe\uffff]', ' ', 'g');
    title := replace(replace(replace(title, '&', '&amp;'), '<', '&lt;'), '>', '&gt;');

    of_sizes := EXISTS (SELECT FROM dp.release_regions AS r
                         WHERE (r.dataset, r.release, r.path) = ($1, $2, $3));
    SELECT CASE WHEN of_sizes THEN
               string_agg(concat_ws(E'\n',
                   format('<rect x="%s" y="%s" width="%s" height="%s" fill="#6b9ac4"/>',
                          round(r.x - slot * 0.4, 1), r.value, round(slot * 0.8, 1),
                          floor - r.value),
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
                                       'rotate(-40)">%s</text>', r.x + 4, floor + 14, r.label)
                           ELSE format('<text x="%s" y="%s" text-anchor="middle">%s</text>',
                                       r.x, floor + 18, r.label) END, E'\n' ORDER BY r.n)
               FILTER (WHERE (r.n - 1) % every = 0)
      INTO drawn
      FROM (SELECT b.n, b.label, round(edge + slot * (b.n - 0.5), 1) AS x,
                   round(floor - greatest(b.value, 0) * s.scale, 1) AS value,
                   round(floor - greatest(b.lower, 0) * s.scale, 1) AS lower,
                   round(floor - greatest(b.upper, 0) * s.scale, 1) AS upper
              FROM unnest(labels, "values", lowers, uppers)
                   WITH ORDINALITY AS b (label, value, lower, upper, n),
                   (SELECT (floor - top) / (step * marks) AS scale) AS s) AS r;

    RETURN concat_ws(E'\n',
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 400" width="720" height="400"'
        ' font-family="sans-serif" font-size="12" fill="#222" role="img">',
        format('<title>%s</title>', title),
        '<rect width="720" height="400" fill="white"/>',
        format('<text x="%s" y="24" font-size="16">%s</text>', edge, title),
        format('<text x="%s" y="44" fill="#666">%s</text>', edge,
               CASE WHEN of_sizes THEN 'Groups by the number of their entities, with 90 % error bars'
                    ELSE 'Rows in each range, with a band of 90 %' END),
        (SELECT string_agg(format(
                    '<path d="M%s %sH700" stroke="%s"/>'
                    '<text x="%s" y="%s" text-anchor="end">%s</text>',
                    edge, m.y, CASE WHEN i = 0 THEN '#222' ELSE '#ddd' END, edge - 8, m.y + 4,
                    to_char(step * i, 'FM999,999,999,999,999,999,990')), E'\n' ORDER BY i)
           FROM generate_series(0, marks) AS i
          CROSS JOIN LATERAL (
            SELECT round(floor - (floor - top) * i / marks::numeric, 1) AS y) AS m),
        drawn,
        format('<text x="%s" y="390" text-anchor="middle">%s</text>', (edge + 700) / 2,
               CASE WHEN of_sizes THEN 'entities in a group' ELSE 'beginning of the range' END),
        format('<text text-anchor="middle" transform="translate(20 %s) rotate(-90)">%s</text>',
               (floor + top) / 2, CASE WHEN of_sizes THEN 'groups' ELSE 'rows' END),
        '</svg>');
END $$;
COMMENT ON FUNCTION @extschema@.dp_plot_svg(text, text, text[], text) IS
    'draws a region or the ranges of a stored release as an SVG picture, with error bars';
