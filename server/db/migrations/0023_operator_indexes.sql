-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
--
-- Users are deleted with their app only, after its messages. To check that none is left, PostgreSQL
-- would read all messages for each of them.
ALTER TABLE "messages" DROP CONSTRAINT IF EXISTS "messages_app_id_user_id_users_app_id_id_fk";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "reactions_of_user";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "reactions_of_user" ON "reactions" USING btree ("app_id","user_id","message_id","emoji");--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "reactions_app_id_user_id_index";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "webhook_deliveries_of_app";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "webhook_deliveries_of_app" ON "webhook_deliveries" USING btree ("app_id");