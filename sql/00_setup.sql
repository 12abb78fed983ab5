\echo Use "CREATE EXTENSION pg_dp" to load this file. \quit

-- Public types and functions go to the schema that CREATE EXTENSION names; the catalog (datasets,
-- ledger, stored releases) lies in schema dp. Functions that read the catalog or private tables pin
-- their search_path; most are written in Rust, in src/pg/.

-- This file is put together from the parts in sql/ in the order of their numbers. A part uses only
-- what those before it make.

-- The schema that CREATE EXTENSION names may be one where others can create, and what they have
-- made there could fit an expression of this script better than what is meant. So nothing is looked
-- for there: all is qualified but what is PostgreSQL's own.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Names of regions pass through UTF8: in another encoding a release could fail once it is charged.
DO $$
BEGIN
    IF getdatabaseencoding() <> 'UTF8' THEN
        RAISE 'pg_dp needs a database with the encoding UTF8, this one has %', getdatabaseencoding()
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0 makes one.';
    END IF;
END $$;


