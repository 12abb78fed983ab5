-- A publication for every quarter, by one procedure that a scheduler calls. docs/publishing.md explains it.

-- What is published each quarter: arguments of the functions that release.
CREATE TABLE quarterly (position int PRIMARY KEY, release jsonb NOT NULL);

-- A day of the quarter: by default that of a month ago, which has ended when the scheduler calls.
CREATE PROCEDURE publish_quarter(day date DEFAULT (current_date - interval '1 month')::date)
LANGUAGE plpgsql AS $$
DECLARE
    quarter CONSTANT text := to_char(day, 'YYYY "Q"Q');
    -- each release is named after the quarter, as 2026 Q1, or 2026 Q1 ages
    releases CONSTANT jsonb := (
        SELECT jsonb_agg(release || jsonb_build_object('name', concat_ws(' ', quarter, release ->> 'name')) ORDER BY position)
          FROM quarterly);
    problems text;
BEGIN
    SELECT string_agg(dataset || ': ' || problem, E'\n') INTO problems
      FROM dp_publish_check(quarter, releases) WHERE problem IS NOT NULL;
    IF problems IS NOT NULL THEN
        RAISE 'nothing of % was published', quarter USING DETAIL = problems;
    END IF;
    CALL dp_publish(quarter, releases);
END $$;
