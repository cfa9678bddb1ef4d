-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "webhook_deliveries_due";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "webhook_deliveries_due" ON "webhook_deliveries" USING btree ("webhook_id","status","next_attempt_at") WHERE status in ('pending', 'retrying');--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "webhook_deliveries_retrying";