-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DROP INDEX CONCURRENTLY IF EXISTS "members_with_role";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "members_with_role" ON "members" USING btree ("channel_id","role","joined_at","user_id") WHERE role <> 'member';
