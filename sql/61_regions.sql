-- Regions where private rows alone tell which there are ------------------------------------------

CREATE FUNCTION @extschema@.dp_find_regions(
        dataset text, epsilon float8, delta float8, name text DEFAULT NULL)
    RETURNS TABLE (path text[])
    AS 'MODULE_PATHNAME', 'dp_find_regions_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 1000
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_find_regions(text, float8, float8, text) IS
    'releases which lowest regions there are, of those that enough units of privacy have';

CREATE FUNCTION @extschema@.dp_explain_regions(dataset text, epsilon float8, delta float8)
    RETURNS TABLE (units bigint, probability float8)
    AS 'MODULE_PATHNAME', 'dp_explain_regions_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 7
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_explain_regions(text, float8, float8) IS
    'how likely dp_find_regions finds a region that so many units of privacy have, for nothing';

