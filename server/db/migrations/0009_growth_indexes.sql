-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
DO $$
DECLARE
  ids uuid[] := array['00000000-0000-0000-0000-000000000000'::uuid];
BEGIN
  LOOP
    ids := array(SELECT id FROM channels WHERE id > ids[cardinality(ids)] ORDER BY id LIMIT 1000);
    EXIT WHEN cardinality(ids) = 0;
    UPDATE channels
    SET active_hour = date_trunc('hour', last_activity_at, 'UTC')
    WHERE id = any(ids) AND type IN ('public', 'livestream');
    COMMIT;
  END LOOP;
END
$$;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "channels_open";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "channels_open" ON "channels" USING btree ("app_id","type","active_hour") WHERE type in ('public', 'livestream') and deleted_at is null;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "messages_live";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "messages_live" ON "messages" USING btree ("channel_id","seq") WHERE num_nulls(deleted_at) = 1;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "channels_app_id_type_last_activity_at_index";