-- Bounds that the data choose ---------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_find_bound(
        dataset text, bound text, epsilon float8, amount text DEFAULT NULL,
        release_epsilon float8 DEFAULT NULL, name text DEFAULT NULL,
        amount_unit numeric DEFAULT NULL)
    RETURNS TABLE (candidate numeric, above bigint, clipping float8, noise float8, chosen boolean)
    AS 'MODULE_PATHNAME', 'dp_find_bound_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 50
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_find_bound(text, text, float8, text, float8, text, numeric) IS
    'chooses a bound by noisy counts: of rows of a unit, amounts, or sizes';

