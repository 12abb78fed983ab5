\echo Use "ALTER EXTENSION pg_dp UPDATE" to load this file. \quit

-- From 0.1.0 to 0.2.0. tests/workflows/upgrade compares what it leads to with what the parts in sql/
-- make, and CONTRIBUTING.md tells how it is written.

SET LOCAL search_path = pg_catalog, pg_temp; -- as in 00_setup.sql
