-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "audit_by_time";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "audit_by_time" ON "audit" USING btree ("created_at","id");--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "audit_of_app_by_time";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "audit_of_app_by_time" ON "audit" USING btree ("app_id",greatest(created_at, '-infinity'),"id");