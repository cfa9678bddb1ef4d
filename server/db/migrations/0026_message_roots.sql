-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "messages_roots";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_roots" ON "messages" USING btree ("channel_id","seq") WHERE num_nulls(deleted_at, parent_id) = 2;