-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again. What was there is dropped once all that takes its place is built.
ALTER TABLE "messages" ADD COLUMN IF NOT EXISTS "created_rev" integer;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "messages_changed";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_changed" ON "messages" USING btree ("channel_id","rev") WHERE rev is distinct from created_rev;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "messages_client_id";--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY "messages_client_id" ON "messages" USING btree ("channel_id","user_id","client_id") WHERE client_id is not null;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "events_of_message";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "events_of_message" ON "events" USING btree ("message_id") WHERE message_id is not null and ascii(envelope) <> 14;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "messages_channel_id_rev_index";--> statement-breakpoint
ALTER TABLE "messages" DROP CONSTRAINT IF EXISTS "messages_channelId_userId_clientId_unique";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "events_message_id_index";
