-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
ALTER TABLE "users" ADD COLUMN IF NOT EXISTS "profile_changed_at" timestamp with time zone;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "users_with_changed_profile";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "users_with_changed_profile" ON "users" USING btree ("profile_changed_at") WHERE profile_changed_at is not null;