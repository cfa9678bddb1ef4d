-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
ALTER TABLE "messages" ADD COLUMN IF NOT EXISTS "type" text;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN IF NOT EXISTS "silent" boolean;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "messages_silent";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_silent" ON "messages" USING btree ("channel_id","seq","user_id") WHERE silent;
