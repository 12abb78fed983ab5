-- Makes the example tables, anew each time. From the checkout's root:  psql -f demo/flights.sql
--
-- A flight, one row, is the private entity: a release hardly depends on any single one. Cancelled
-- flights count as well. An aircraft, at one airport for one airline, is the group, and the number
-- of its flights its size. Which aircraft there are is public and has a table of its own. That table
-- is made of the flights here, as no register of aircraft is at hand: so it gives the first flight
-- of each away. Do not do so with your data. Flights without a tail number belong to no group:
-- their key is NULL, and releases leave them out.

\set ON_ERROR_STOP on
\set quiet_before :QUIET
\set QUIET on

BEGIN;
SET LOCAL client_min_messages = warning;
DROP TABLE IF EXISTS flights, aircraft;

CREATE TABLE flights (origin text, carrier text, tailnum text, departure timestamp);
\copy flights FROM PROGRAM 'gzip -dc data/flights.csv.gz' (FORMAT csv, HEADER)

CREATE TABLE aircraft (
    origin text, carrier text, tailnum text,
    PRIMARY KEY (origin, carrier, tailnum)
);
INSERT INTO aircraft -- in place of a register
SELECT DISTINCT origin, carrier, tailnum FROM flights WHERE tailnum IS NOT NULL;
COMMIT;

ANALYZE flights, aircraft;

\set QUIET :quiet_before
