-- A publication for every quarter, by one procedure that a scheduler calls. docs/publishing.md explains it.

-- What is published each quarter: arguments of the functions that release.
CREATE TABLE quarterly (position int PRIMARY KEY, release jsonb NOT NULL);

-- A day of the quarter, which has to have ended: by default the last one that has.
CREATE PROCEDURE publish_quarter(day date DEFAULT date_trunc('quarter', current_date)::date - 1)
LANGUAGE plpgsql AS $$
DECLARE
    quarter CONSTANT text := to_char(day, 'YYYY "Q"Q');
    period CONSTANT text := daterange(date_trunc('quarter', day)::date, (date_trunc('quarter', day) + interval '3 months')::date);
    months CONSTANT jsonb := (
        SELECT jsonb_agg(daterange(m::date, (m + interval '1 month')::date))
          FROM generate_series(lower(period::daterange), upper(period::daterange) - 1, interval '1 month') AS m);
    -- each release is named after the quarter, as 2026 Q1, or 2026 Q1 ages; where the dataset has a period_column it is
    -- of the quarter's rows, unless it has a period of its own; ranges may be the months of the quarter
    releases CONSTANT jsonb := (
        SELECT jsonb_agg(CASE WHEN d.period_column IS NULL THEN '{}' ELSE jsonb_build_object('period', period) END
                         || release || CASE release ->> 'ranges' WHEN 'months' THEN jsonb_build_object('ranges', months) ELSE '{}' END
                         || jsonb_build_object('name', concat_ws(' ', quarter, release ->> 'name')) ORDER BY position)
          FROM quarterly LEFT JOIN dp.datasets AS d ON d.name = release ->> 'dataset');
    problems text;
BEGIN
    IF upper(period::daterange) > current_date THEN
        RAISE 'nothing of % was published', quarter
            USING DETAIL = format('It ends on %s.', upper(period::daterange) - 1), HINT = 'Call publish_quarter when it has ended.';
    END IF;
    IF releases IS NULL THEN
        RAISE 'nothing of % was published', quarter USING HINT = 'The table quarterly is empty: insert what is to be published.';
    END IF;
    -- also where a release of it was retracted since, or what is published each quarter was changed
    IF EXISTS (SELECT FROM dp.publications WHERE (name, made_by) = (quarter, current_user) AND published_at IS NOT NULL) THEN
        RAISE NOTICE '% was published already', quarter;
        RETURN;
    END IF;
    SELECT string_agg(dataset || ': ' || problem, E'\n') INTO problems
      FROM dp_publish_check(quarter, releases) WHERE problem IS NOT NULL;
    IF problems IS NOT NULL THEN
        RAISE 'nothing of % was published', quarter USING DETAIL = problems;
    END IF;
    CALL dp_publish(quarter, releases);
END $$;
