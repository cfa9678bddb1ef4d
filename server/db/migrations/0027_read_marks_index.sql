-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
--
-- Only a bitmap scan could use it, which the service switches off. Read marks are thinned in the
-- order of their keys.
DROP INDEX CONCURRENTLY IF EXISTS "read_marks_read_at";
