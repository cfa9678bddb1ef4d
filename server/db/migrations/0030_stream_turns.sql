-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "message_streams_of_app";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "message_streams_of_app" ON "message_streams" USING btree ("app_id","stored_at");--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "message_streams_stored_at_index";