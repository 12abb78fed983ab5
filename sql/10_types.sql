-- Types -----------------------------------------------------------------------------------------

CREATE TYPE @extschema@.coco;
CREATE FUNCTION @extschema@.coco_in(cstring) RETURNS @extschema@.coco
    AS 'MODULE_PATHNAME', 'coco_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.coco_out(@extschema@.coco) RETURNS cstring
    AS 'MODULE_PATHNAME', 'coco_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.coco_recv(internal) RETURNS @extschema@.coco
    AS 'MODULE_PATHNAME', 'coco_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.coco_send(@extschema@.coco) RETURNS bytea
    AS 'MODULE_PATHNAME', 'coco_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.coco (
    INPUT = @extschema@.coco_in, OUTPUT = @extschema@.coco_out,
    RECEIVE = @extschema@.coco_recv, SEND = @extschema@.coco_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);
COMMENT ON TYPE @extschema@.coco IS
    'exact, CONFIDENTIAL count-of-counts histogram: how many groups there are of each size';
COMMENT ON FUNCTION @extschema@.coco_in(cstring) IS 'text input of coco';
COMMENT ON FUNCTION @extschema@.coco_out(@extschema@.coco) IS 'text output of coco';
COMMENT ON FUNCTION @extschema@.coco_recv(internal) IS 'binary input of coco';
COMMENT ON FUNCTION @extschema@.coco_send(@extschema@.coco) IS 'binary output of coco';

CREATE TYPE @extschema@.dp_coco;
CREATE FUNCTION @extschema@.dp_coco_in(cstring) RETURNS @extschema@.dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_coco_out(@extschema@.dp_coco) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_coco_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_coco_recv(internal) RETURNS @extschema@.dp_coco
    AS 'MODULE_PATHNAME', 'dp_coco_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_coco_send(@extschema@.dp_coco) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_coco_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- a category of released types: what is written in quotes, as in dp_unnest('{1:2}'), is a dp_coco
CREATE TYPE @extschema@.dp_coco (
    INPUT = @extschema@.dp_coco_in, OUTPUT = @extschema@.dp_coco_out,
    RECEIVE = @extschema@.dp_coco_recv, SEND = @extschema@.dp_coco_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'd', PREFERRED = true
);
COMMENT ON TYPE @extschema@.dp_coco IS
    'released, differentially private histogram: how many groups there are of each size';
COMMENT ON FUNCTION @extschema@.dp_coco_in(cstring) IS 'text input of dp_coco';
COMMENT ON FUNCTION @extschema@.dp_coco_out(@extschema@.dp_coco) IS 'text output of dp_coco';
COMMENT ON FUNCTION @extschema@.dp_coco_recv(internal) IS 'binary input of dp_coco';
COMMENT ON FUNCTION @extschema@.dp_coco_send(@extschema@.dp_coco) IS 'binary output of dp_coco';

CREATE TYPE @extschema@.bins;
CREATE FUNCTION @extschema@.bins_in(cstring) RETURNS @extschema@.bins
    AS 'MODULE_PATHNAME', 'bins_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.bins_out(@extschema@.bins) RETURNS cstring
    AS 'MODULE_PATHNAME', 'bins_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.bins_recv(internal) RETURNS @extschema@.bins
    AS 'MODULE_PATHNAME', 'bins_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.bins_send(@extschema@.bins) RETURNS bytea
    AS 'MODULE_PATHNAME', 'bins_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.bins (
    INPUT = @extschema@.bins_in, OUTPUT = @extschema@.bins_out,
    RECEIVE = @extschema@.bins_recv, SEND = @extschema@.bins_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);
COMMENT ON TYPE @extschema@.bins IS
    'exact, CONFIDENTIAL histogram: how many rows there are in each of consecutive bins';
COMMENT ON FUNCTION @extschema@.bins_in(cstring) IS 'text input of bins';
COMMENT ON FUNCTION @extschema@.bins_out(@extschema@.bins) IS 'text output of bins';
COMMENT ON FUNCTION @extschema@.bins_recv(internal) IS 'binary input of bins';
COMMENT ON FUNCTION @extschema@.bins_send(@extschema@.bins) IS 'binary output of bins';

CREATE TYPE @extschema@.dp_ranges;
CREATE FUNCTION @extschema@.dp_ranges_in(cstring) RETURNS @extschema@.dp_ranges
    AS 'MODULE_PATHNAME', 'dp_ranges_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_ranges_out(@extschema@.dp_ranges) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_ranges_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_ranges_recv(internal) RETURNS @extschema@.dp_ranges
    AS 'MODULE_PATHNAME', 'dp_ranges_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_ranges_send(@extschema@.dp_ranges) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_ranges_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.dp_ranges (
    INPUT = @extschema@.dp_ranges_in, OUTPUT = @extschema@.dp_ranges_out,
    RECEIVE = @extschema@.dp_ranges_recv, SEND = @extschema@.dp_ranges_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'd'
);
COMMENT ON TYPE @extschema@.dp_ranges IS
    'released, differentially private histogram over bins, which answers any range';
COMMENT ON FUNCTION @extschema@.dp_ranges_in(cstring) IS 'text input of dp_ranges';
COMMENT ON FUNCTION @extschema@.dp_ranges_out(@extschema@.dp_ranges) IS 'text output of dp_ranges';
COMMENT ON FUNCTION @extschema@.dp_ranges_recv(internal) IS 'binary input of dp_ranges';
COMMENT ON FUNCTION @extschema@.dp_ranges_send(@extschema@.dp_ranges) IS
    'binary output of dp_ranges';

CREATE TYPE @extschema@.grid;
CREATE FUNCTION @extschema@.grid_in(cstring) RETURNS @extschema@.grid
    AS 'MODULE_PATHNAME', 'grid_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.grid_out(@extschema@.grid) RETURNS cstring
    AS 'MODULE_PATHNAME', 'grid_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.grid_recv(internal) RETURNS @extschema@.grid
    AS 'MODULE_PATHNAME', 'grid_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.grid_send(@extschema@.grid) RETURNS bytea
    AS 'MODULE_PATHNAME', 'grid_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.grid (
    INPUT = @extschema@.grid_in, OUTPUT = @extschema@.grid_out,
    RECEIVE = @extschema@.grid_recv, SEND = @extschema@.grid_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended
);
COMMENT ON TYPE @extschema@.grid IS
    'exact, CONFIDENTIAL counts: how many rows there are in each cell of a grid of bins';
COMMENT ON FUNCTION @extschema@.grid_in(cstring) IS 'text input of grid';
COMMENT ON FUNCTION @extschema@.grid_out(@extschema@.grid) IS 'text output of grid';
COMMENT ON FUNCTION @extschema@.grid_recv(internal) IS 'binary input of grid';
COMMENT ON FUNCTION @extschema@.grid_send(@extschema@.grid) IS 'binary output of grid';

CREATE TYPE @extschema@.dp_grid;
CREATE FUNCTION @extschema@.dp_grid_in(cstring) RETURNS @extschema@.dp_grid
    AS 'MODULE_PATHNAME', 'dp_grid_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_grid_out(@extschema@.dp_grid) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_grid_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_grid_recv(internal) RETURNS @extschema@.dp_grid
    AS 'MODULE_PATHNAME', 'dp_grid_recv_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_grid_send(@extschema@.dp_grid) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_grid_send_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.dp_grid (
    INPUT = @extschema@.dp_grid_in, OUTPUT = @extschema@.dp_grid_out,
    RECEIVE = @extschema@.dp_grid_recv, SEND = @extschema@.dp_grid_send,
    INTERNALLENGTH = VARIABLE, STORAGE = extended, CATEGORY = 'd'
);
COMMENT ON TYPE @extschema@.dp_grid IS
    'released, differentially private counts of the cells of a grid, which answer any rectangle';
COMMENT ON FUNCTION @extschema@.dp_grid_in(cstring) IS 'text input of dp_grid';
COMMENT ON FUNCTION @extschema@.dp_grid_out(@extschema@.dp_grid) IS 'text output of dp_grid';
COMMENT ON FUNCTION @extschema@.dp_grid_recv(internal) IS 'binary input of dp_grid';
COMMENT ON FUNCTION @extschema@.dp_grid_send(@extschema@.dp_grid) IS 'binary output of dp_grid';

-- there is no cast between confidential and released types, on purpose
CREATE FUNCTION @extschema@.coco_to_jsonb(@extschema@.coco) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'coco_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.coco_to_jsonb(@extschema@.coco) IS 'inside of the cast to jsonb';
CREATE CAST (@extschema@.coco AS jsonb) WITH FUNCTION @extschema@.coco_to_jsonb(@extschema@.coco);
COMMENT ON CAST (@extschema@.coco AS jsonb) IS '{"size": groups, ...}';
CREATE FUNCTION @extschema@.dp_coco_to_jsonb(@extschema@.dp_coco) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'dp_coco_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_coco_to_jsonb(@extschema@.dp_coco) IS
    'inside of the cast to jsonb';
CREATE CAST (@extschema@.dp_coco AS jsonb)
    WITH FUNCTION @extschema@.dp_coco_to_jsonb(@extschema@.dp_coco);
COMMENT ON CAST (@extschema@.dp_coco AS jsonb) IS '{"size": groups, ...}';
CREATE FUNCTION @extschema@.bins_to_jsonb(@extschema@.bins) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'bins_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.bins_to_jsonb(@extschema@.bins) IS 'inside of the cast to jsonb';
CREATE CAST (@extschema@.bins AS jsonb) WITH FUNCTION @extschema@.bins_to_jsonb(@extschema@.bins);
COMMENT ON CAST (@extschema@.bins AS jsonb) IS
    '{"lo": lo, "hi": hi, "counts": {"bin": count, ...}}';
CREATE FUNCTION @extschema@.dp_ranges_to_jsonb(@extschema@.dp_ranges) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'dp_ranges_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_ranges_to_jsonb(@extschema@.dp_ranges) IS
    'inside of the cast to jsonb';
CREATE CAST (@extschema@.dp_ranges AS jsonb)
    WITH FUNCTION @extschema@.dp_ranges_to_jsonb(@extschema@.dp_ranges);
COMMENT ON CAST (@extschema@.dp_ranges AS jsonb) IS
    'what was released: bounds, method, parameters, running sums of the noisy counts';
CREATE FUNCTION @extschema@.grid_to_jsonb(@extschema@.grid) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'grid_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.grid_to_jsonb(@extschema@.grid) IS
    'inside of the cast to jsonb';
CREATE CAST (@extschema@.grid AS jsonb)
    WITH FUNCTION @extschema@.grid_to_jsonb(@extschema@.grid);
COMMENT ON CAST (@extschema@.grid AS jsonb) IS
    '{"row_lo": lo, "row_hi": hi, "column_lo": lo, "column_hi": hi, "counts": {"row/column": count, ...}}';
CREATE FUNCTION @extschema@.dp_grid_to_jsonb(@extschema@.dp_grid) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'dp_grid_to_jsonb_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.dp_grid_to_jsonb(@extschema@.dp_grid) IS
    'inside of the cast to jsonb';
CREATE CAST (@extschema@.dp_grid AS jsonb)
    WITH FUNCTION @extschema@.dp_grid_to_jsonb(@extschema@.dp_grid);
COMMENT ON CAST (@extschema@.dp_grid AS jsonb) IS
    'what was released: bounds, method, parameters, the sums over the rectangles from the first cell';

-- Arguments that are a number or 'auto': stored as a bigint and as a numeric, of which one value says that.
CREATE TYPE @extschema@.dp_bound;
CREATE FUNCTION @extschema@.dp_bound_in(cstring) RETURNS @extschema@.dp_bound
    AS 'MODULE_PATHNAME', 'dp_bound_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_bound_out(@extschema@.dp_bound) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_bound_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_bound_recv(internal) RETURNS @extschema@.dp_bound
    AS 'int8recv' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_bound_send(@extschema@.dp_bound) RETURNS bytea
    AS 'int8send' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.dp_bound (
    INPUT = @extschema@.dp_bound_in, OUTPUT = @extschema@.dp_bound_out,
    RECEIVE = @extschema@.dp_bound_recv, SEND = @extschema@.dp_bound_send, LIKE = bigint
);
COMMENT ON FUNCTION @extschema@.dp_bound_recv(internal) IS 'binary input of dp_bound, as of bigint';
COMMENT ON FUNCTION @extschema@.dp_bound_send(@extschema@.dp_bound) IS 'binary output of dp_bound, as of bigint';
COMMENT ON TYPE @extschema@.dp_bound IS 'a whole number, or ''auto'' for what dp_find_bound has chosen';
COMMENT ON FUNCTION @extschema@.dp_bound_in(cstring) IS 'text input of dp_bound';
COMMENT ON FUNCTION @extschema@.dp_bound_out(@extschema@.dp_bound) IS 'text output of dp_bound';
CREATE CAST (smallint AS @extschema@.dp_bound) WITH INOUT AS IMPLICIT;
CREATE CAST (integer AS @extschema@.dp_bound) WITH INOUT AS IMPLICIT;
CREATE CAST (bigint AS @extschema@.dp_bound) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (smallint AS @extschema@.dp_bound) IS 'a bound that is given as a number';
COMMENT ON CAST (integer AS @extschema@.dp_bound) IS 'a bound that is given as a number';
COMMENT ON CAST (bigint AS @extschema@.dp_bound) IS 'a bound that is given as a number';

CREATE TYPE @extschema@.dp_amount;
CREATE FUNCTION @extschema@.dp_amount_in(cstring) RETURNS @extschema@.dp_amount
    AS 'MODULE_PATHNAME', 'dp_amount_in_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_amount_out(@extschema@.dp_amount) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_amount_out_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_amount_recv(internal, oid, integer) RETURNS @extschema@.dp_amount
    AS 'numeric_recv' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.dp_amount_send(@extschema@.dp_amount) RETURNS bytea
    AS 'numeric_send' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.dp_amount (
    INPUT = @extschema@.dp_amount_in, OUTPUT = @extschema@.dp_amount_out,
    RECEIVE = @extschema@.dp_amount_recv, SEND = @extschema@.dp_amount_send, LIKE = numeric
);
COMMENT ON FUNCTION @extschema@.dp_amount_recv(internal, oid, integer) IS 'binary input of dp_amount, as of numeric';
COMMENT ON FUNCTION @extschema@.dp_amount_send(@extschema@.dp_amount) IS 'binary output of dp_amount, as of numeric';
COMMENT ON TYPE @extschema@.dp_amount IS 'a number, or ''auto'' for what dp_find_bound has chosen';
COMMENT ON FUNCTION @extschema@.dp_amount_in(cstring) IS 'text input of dp_amount';
COMMENT ON FUNCTION @extschema@.dp_amount_out(@extschema@.dp_amount) IS 'text output of dp_amount';
CREATE CAST (smallint AS @extschema@.dp_amount) WITH INOUT AS IMPLICIT;
CREATE CAST (integer AS @extschema@.dp_amount) WITH INOUT AS IMPLICIT;
CREATE CAST (bigint AS @extschema@.dp_amount) WITH INOUT AS IMPLICIT;
CREATE CAST (numeric AS @extschema@.dp_amount) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (smallint AS @extschema@.dp_amount) IS 'an amount that is given as a number';
COMMENT ON CAST (integer AS @extschema@.dp_amount) IS 'an amount that is given as a number';
COMMENT ON CAST (bigint AS @extschema@.dp_amount) IS 'an amount that is given as a number';
COMMENT ON CAST (numeric AS @extschema@.dp_amount) IS 'an amount that is given as a number';

