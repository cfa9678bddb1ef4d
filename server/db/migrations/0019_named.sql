-- The rows that have the keys of a part of a name, by the index of names, in no order.
--
-- Only a bitmap scan can use that index. The service's connections switch bitmap scans off, and
-- before PostgreSQL 18 a scan of the whole table then counts as no worse. They are on while these
-- functions plan and run their statement. Their other conditions are in forms that no index serves.
CREATE FUNCTION "users_named"("app" uuid, "part" text)
RETURNS TABLE ("id" text, "display_name" text)
LANGUAGE sql STABLE ROWS 10 SET enable_bitmapscan = on
AS $$
  SELECT u.id, u.display_name
  FROM users u
  WHERE search_keys(u.app_id::text, u.display_name, 1)
      @> search_keys("app"::text, "part", least(3, char_length(lower("part"))))
    AND u.app_id IS NOT DISTINCT FROM "app"
    AND num_nulls(u.deleted_at) = 1
$$;--> statement-breakpoint
CREATE FUNCTION "channels_named"("app" uuid, "kind" text, "part" text)
RETURNS TABLE ("id" uuid, "last_activity_at" timestamp with time zone, "name" text)
LANGUAGE sql STABLE ROWS 10 SET enable_bitmapscan = on
AS $$
  SELECT c.id, c.last_activity_at, c.name
  FROM channels c
  WHERE search_keys(c.app_id::text || c.type, c.name, 1)
      @> search_keys("app"::text || "kind", "part", least(3, char_length(lower("part"))))
    AND c.type IN ('public', 'livestream')
    AND c.type IS NOT DISTINCT FROM "kind"
    AND c.app_id IS NOT DISTINCT FROM "app"
    AND num_nulls(c.deleted_at) = 1
$$;
