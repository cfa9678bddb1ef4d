-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "invite_uses_of_user";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "invite_uses_of_user" ON "workspace_invite_uses" USING btree ("user_id","invite_id");--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "invites_of_user";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "invites_of_user" ON "workspace_invites" USING btree ("app_id","created_by","id");
