
-- Streams ---------------------------------------------------------------------------------------

-- A stream is a release with a name, stored when it is begun. Its ticks follow.
CREATE TABLE dp.stream (
    release bigint PRIMARY KEY REFERENCES dp.release,
    time_column text NOT NULL,
    entities oid NOT NULL, -- the table that it was a column of when it was begun or confirmed
    attnum smallint NOT NULL, -- and its number there
    value_type text NOT NULL CHECK (value_type IN ('date', 'timestamp', 'timestamptz')),
    time_zone text, -- by whose clock ticks end; NULL of a column that has one
    start_at text NOT NULL,
    origin bigint NOT NULL, -- the same in microseconds since 2000
    width bigint NOT NULL CHECK (width > 0), -- in microseconds
    horizon bigint NOT NULL CHECK (horizon > 0),
    branching bigint, -- of the tree that is measured, NULL of another method
    levels bigint,
    identity text -- of the server where its owner has said that no tick is missing
);
COMMENT ON TABLE dp.stream IS 'streams, which dp.streams shows';

CREATE TABLE dp.stream_tick (
    release bigint NOT NULL REFERENCES dp.stream,
    n bigint NOT NULL, -- from 0 on, without gaps
    lower_bound text NOT NULL,
    upper_bound text NOT NULL,
    count float8 NOT NULL,
    stddev float8 NOT NULL,
    total float8 NOT NULL,
    total_stddev float8 NOT NULL,
    noisy bigint[] NOT NULL, -- what was measured
    estimates float8[] NOT NULL, -- what all later answers are made of
    released_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (release, n)
);
COMMENT ON TABLE dp.stream_tick IS 'the ticks of streams as they were told, which dp.stream_ticks shows';

-- Later ticks are measured together with earlier ones, so their exact counts are kept, as long as
-- there are later ones: apart from all that may be told, and in as many bytes whatever they are.
CREATE TABLE dp.stream_count (
    release bigint NOT NULL,
    n bigint NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (release, n),
    FOREIGN KEY (release, n) REFERENCES dp.stream_tick
);
COMMENT ON TABLE dp.stream_count IS 'the exact counts of the ticks of streams: private, shown nowhere';

SELECT pg_catalog.pg_extension_config_dump('dp.stream', '');
SELECT pg_catalog.pg_extension_config_dump('dp.stream_tick', '');
SELECT pg_catalog.pg_extension_config_dump('dp.stream_count', '');
