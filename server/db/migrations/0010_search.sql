-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
--
-- All parts of a text, in lower case, that are at least "shortest" and at most 3 characters long, as
-- hashes that differ from scope to scope. It is dear, so that no plan computes it row by row.
CREATE OR REPLACE FUNCTION "search_keys"("scope" text, "value" text, "shortest" integer)
RETURNS bigint[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1000
AS $$
  SELECT array_agg(hashtextextended(substr(lowered, first, size), hashtextextended("scope", 0)))
  FROM lower("value") AS lowered
  CROSS JOIN generate_series("shortest", 3) AS size
  CROSS JOIN generate_series(1, char_length(lowered) - size + 1) AS first
$$;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "channels_search";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "channels_search" ON "channels" USING gin (search_keys(app_id::text || type, name, 1)) WITH (gin_pending_list_limit=256) WHERE type in ('public', 'livestream') and num_nulls(deleted_at) = 1;--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "users_search";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "users_search" ON "users" USING gin (search_keys(app_id::text, display_name, 1)) WITH (gin_pending_list_limit=256) WHERE num_nulls(deleted_at) = 1;
