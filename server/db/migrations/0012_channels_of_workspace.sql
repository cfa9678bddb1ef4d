-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "channels_of_workspace";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "channels_of_workspace" ON "channels" USING btree ("workspace_id") WHERE workspace_id is not null;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "channels_workspace_id_index";