-- What the psql scripts share.

-- The error of a statement as users meet it; fails itself if there is none.
CREATE FUNCTION error_of(statement text, OUT code text, OUT message text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RAISE 'no error: %', statement USING ERRCODE = 'TT000';
EXCEPTION
    WHEN SQLSTATE 'TT000' THEN RAISE;
    WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
                                hint = PG_EXCEPTION_HINT;
END $$;

-- A release in one line per region, to compare with the truth.
CREATE FUNCTION histograms(release text) RETURNS TABLE (path text[], histogram text)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT path, string_agg(size || '':'' || groups, '', '' ORDER BY size) FROM %s AS r
          GROUP BY path ORDER BY cardinality(path), path', release);
END $$;
