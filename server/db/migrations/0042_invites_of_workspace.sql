-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "invites_of_workspace";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "invites_of_workspace" ON "workspace_invites" USING btree ("workspace_id","id");
