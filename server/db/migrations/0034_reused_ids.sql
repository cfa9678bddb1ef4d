-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again. What was there is dropped once what takes its place is built.
ALTER TABLE "users" ADD COLUMN IF NOT EXISTS "reused_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "workspace_invite_uses" ADD COLUMN IF NOT EXISTS "app_id" uuid;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "invite_uses_of_app";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "invite_uses_of_app" ON "workspace_invite_uses" USING btree ("app_id","user_id","invite_id");--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "invite_uses_of_user";
