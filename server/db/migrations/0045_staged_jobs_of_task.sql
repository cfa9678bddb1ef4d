-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "staged_jobs_of_task";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "staged_jobs_of_task" ON "staged_jobs" USING btree ("task","id");
