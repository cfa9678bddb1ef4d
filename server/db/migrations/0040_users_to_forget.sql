-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "users_to_forget_of_app";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "users_to_forget_of_app" ON "users" USING btree ("app_id","deleted_at") WHERE deleted_at is not null and forgotten_at is null;
