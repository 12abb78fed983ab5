
-- What streams have released ----------------------------------------------------------------------

CREATE VIEW dp.streams WITH (security_barrier) AS
    SELECT r.dataset, r.release AS stream, s.time_column, s.value_type, s.start_at,
           pg_catalog.justify_hours(s.width * interval '1 microsecond') AS bin_width,
           s.time_zone, s.horizon,
           (SELECT coalesce(max(t.n) + 1, 0) FROM dp.stream_tick AS t WHERE t.release = r.id)
               AS ticks,
           c.epsilon, c.delta, r.released_at AS created_at
      FROM dp.shown_release AS r
      JOIN dp.stream AS s ON s.release = r.id
      JOIN dp.release AS n ON n.id = r.id
      JOIN dp.charge AS c ON c.id = n.charge;
COMMENT ON VIEW dp.streams IS 'counters that are released tick by tick';
COMMENT ON COLUMN dp.streams.dataset IS 'the dataset that it is released from';
COMMENT ON COLUMN dp.streams.stream IS 'the name of the stream, as a release';
COMMENT ON COLUMN dp.streams.time_column IS 'the column by which a row is in a tick';
COMMENT ON COLUMN dp.streams.value_type IS 'its type: date, timestamp or timestamptz';
COMMENT ON COLUMN dp.streams.start_at IS
    'where tick 0 begins, in ISO 8601 with times with a zone in UTC';
COMMENT ON COLUMN dp.streams.bin_width IS 'how long a tick is';
COMMENT ON COLUMN dp.streams.time_zone IS
    'by whose clock ticks end where the column has no zone, else NULL';
COMMENT ON COLUMN dp.streams.horizon IS 'the most ticks that there will be';
COMMENT ON COLUMN dp.streams.ticks IS 'how many there are so far';
COMMENT ON COLUMN dp.streams.epsilon IS 'the epsilon that all of them together cost';
COMMENT ON COLUMN dp.streams.delta IS 'the delta that all of them together cost';
COMMENT ON COLUMN dp.streams.created_at IS 'when it was begun';

CREATE VIEW dp.stream_ticks WITH (security_barrier) AS
    SELECT r.dataset, r.release AS stream, t.n AS tick, t.lower_bound, t.upper_bound, t.count,
           t.stddev, t.total, t.total_stddev,
           -- with more of it everybody could time each call, long after it
           pg_catalog.date_trunc('minute', t.released_at) AS released_at
      FROM dp.shown_release AS r JOIN dp.stream_tick AS t ON t.release = r.id;
COMMENT ON VIEW dp.stream_ticks IS 'the ticks of all streams so far, as they were released';
COMMENT ON COLUMN dp.stream_ticks.dataset IS 'the dataset that it is released from';
COMMENT ON COLUMN dp.stream_ticks.stream IS 'the name of the stream';
COMMENT ON COLUMN dp.stream_ticks.tick IS 'the number of the tick, from 0 on';
COMMENT ON COLUMN dp.stream_ticks.lower_bound IS
    'where it begins, in ISO 8601 with times with a zone in UTC';
COMMENT ON COLUMN dp.stream_ticks.upper_bound IS 'where it ends, which is not a part of it any more';
COMMENT ON COLUMN dp.stream_ticks.count IS 'how many rows there are in the tick';
COMMENT ON COLUMN dp.stream_ticks.stddev IS 'the standard deviation of its noise, exact';
COMMENT ON COLUMN dp.stream_ticks.total IS 'how many rows there are in this tick and all before';
COMMENT ON COLUMN dp.stream_ticks.total_stddev IS 'the standard deviation of its noise, exact';
COMMENT ON COLUMN dp.stream_ticks.released_at IS 'when it was stored, to the minute';

GRANT SELECT ON dp.streams, dp.stream_ticks TO PUBLIC;
