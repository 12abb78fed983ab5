
-- Streams -----------------------------------------------------------------------------------------

CREATE FUNCTION @extschema@.dp_stream_create(
        dataset text, stream text, time_column text, start date, bin_width interval, horizon bigint,
        epsilon float8, delta float8 DEFAULT 0, within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_create_of_dates_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_create(
        text, text, text, date, interval, bigint, float8, float8, text[], text) IS
    'charges a counter of rows by their dates, of all that it will ever release';

CREATE FUNCTION @extschema@.dp_stream_create(
        dataset text, stream text, time_column text, start timestamp, bin_width interval, horizon bigint,
        epsilon float8, delta float8 DEFAULT 0, within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_create_of_timestamps_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_create(
        text, text, text, timestamp, interval, bigint, float8, float8, text[], text) IS
    'charges a counter of rows by their timestamps, of all that it will ever release';

CREATE FUNCTION @extschema@.dp_stream_create(
        dataset text, stream text, time_column text, start timestamptz, bin_width interval, horizon bigint,
        epsilon float8, delta float8 DEFAULT 0, within text[] DEFAULT '{}', period text DEFAULT NULL)
    RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_create_of_timestamptzs_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_create(
        text, text, text, timestamptz, interval, bigint, float8, float8, text[], text) IS
    'charges a counter of rows by their timestamps with time zone, of all that it will ever release';

CREATE FUNCTION @extschema@.dp_stream_tick(dataset text, stream text)
    RETURNS TABLE (tick bigint, lower_bound text, upper_bound text, count float8, stddev float8,
                   total float8, total_stddev float8)
    AS 'MODULE_PATHNAME', 'dp_stream_tick_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 10
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_tick(text, text) IS
    'releases the ticks of a stream that have ended since it was called last';

CREATE FUNCTION @extschema@.dp_stream_sums(dataset text, stream text, ranges daterange[])
    RETURNS TABLE (range daterange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_stream_sums_of_dates_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_sums(text, text, daterange[]) IS
    'how many rows lie in ranges of dates, estimated from the ticks of a stream';

CREATE FUNCTION @extschema@.dp_stream_sums(dataset text, stream text, ranges tsrange[])
    RETURNS TABLE (range tsrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_stream_sums_of_timestamps_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_sums(text, text, tsrange[]) IS
    'how many rows lie in ranges of timestamps, estimated from the ticks of a stream';

CREATE FUNCTION @extschema@.dp_stream_sums(dataset text, stream text, ranges tstzrange[])
    RETURNS TABLE (range tstzrange, sum float8, stddev float8)
    AS 'MODULE_PATHNAME', 'dp_stream_sums_of_timestamptzs_wrapper'
    LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_sums(text, text, tstzrange[]) IS
    'how many rows lie in ranges of timestamps with time zone, estimated from the ticks of a stream';

CREATE FUNCTION @extschema@.dp_stream_confirm(dataset text, stream text, ticks bigint) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_stream_confirm_wrapper' LANGUAGE C VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.dp_stream_confirm(text, text, bigint) IS
    'says that a stream has all ticks ever told, and that no row that was counted counts again';

CREATE FUNCTION @extschema@.dp_explain_stream(
        horizon bigint, epsilon float8, delta float8 DEFAULT 0)
    RETURNS TABLE (method text, branching int, levels int, mean_variance float8,
                   max_variance float8, count_variance float8)
    AS 'MODULE_PATHNAME', 'dp_explain_stream_wrapper' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION @extschema@.dp_explain_stream(bigint, float8, float8) IS
    'the exact variances of the totals and counts of a stream, before anything is spent';
