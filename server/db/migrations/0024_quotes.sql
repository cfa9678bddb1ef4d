-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
ALTER TABLE "messages" ADD COLUMN IF NOT EXISTS "quoted_id" uuid;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "messages_quoting";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_quoting" ON "messages" USING btree ("quoted_id") WHERE quoted_id is not null;