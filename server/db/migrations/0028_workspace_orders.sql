-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "workspaces_of_user";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "workspaces_of_user" ON "workspace_members" USING btree ("app_id","user_id","joined_at","workspace_id");--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "workspace_members_app_id_user_id_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "members_of_workspace";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "members_of_workspace" ON "workspace_members" USING btree ("workspace_id","joined_at","user_id");--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "channels_by_workspace";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "channels_by_workspace" ON "channels" USING btree ("workspace_id","deleted_at") WHERE workspace_id is not null;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "channels_of_workspace";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "api_keys_by_use";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "api_keys_by_use" ON "api_keys" USING btree (greatest(created_at, last_used_at));