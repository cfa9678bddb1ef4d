-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "messages_replies";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_replies" ON "messages" USING btree ("parent_id","seq") WHERE parent_id is not null and num_nulls(deleted_at) = 1;