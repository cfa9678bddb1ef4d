-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
CREATE TABLE IF NOT EXISTS "reaction_counts" (
	"message_id" uuid NOT NULL,
	"emoji" text NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "reaction_counts_message_id_emoji_pk" PRIMARY KEY("message_id","emoji"),
	CONSTRAINT "reaction_counts_message_id_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "messages"("id") ON DELETE cascade ON UPDATE no action
);--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "reactions_first";--> statement-breakpoint
CREATE INDEX CONCURRENTLY "reactions_first" ON "reactions" USING btree ("message_id","emoji","created_at","user_id");--> statement-breakpoint
-- Counts the reactions of the statement, each emoji of a message once. Where nothing is kept yet, it
-- counts all: from the hundredth on, so that nothing is kept of most. It runs with the rights of its
-- owner, so names mean our tables even if the caller has temporary ones, which come first unless
-- they are said to come last, and nobody else makes a trigger of it.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
CREATE OR REPLACE FUNCTION "count_reactions"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
AS $$
DECLARE
  each record;
BEGIN
  FOR each IN
    SELECT changed.message_id, changed.emoji, count(*) * TG_ARGV[0]::int AS change
    FROM changed
    GROUP BY 1, 2
    ORDER BY 1, 2
  LOOP
    UPDATE reaction_counts rc
    SET count = rc.count + each.change
    WHERE rc.message_id = each.message_id
      AND rc.emoji = each.emoji;
    CONTINUE WHEN FOUND;
    PERFORM FROM reactions r
    WHERE r.message_id = each.message_id
      AND r.emoji = each.emoji
    ORDER BY r.user_id
    OFFSET 99
    LIMIT 1;
    CONTINUE WHEN NOT FOUND;
    INSERT INTO reaction_counts AS rc (message_id, emoji, count)
    SELECT r.message_id, r.emoji, count(*)
    FROM reactions r
    WHERE r.message_id = each.message_id
      AND r.emoji = each.emoji
    GROUP BY 1, 2
    ON CONFLICT (message_id, emoji) DO UPDATE
    SET count = excluded.count;
  END LOOP;
  RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION "count_reactions"() FROM PUBLIC;--> statement-breakpoint
-- Both in one statement: a reaction between them would be counted, and its removal would not.
CREATE OR REPLACE TRIGGER "reactions_added" AFTER INSERT ON "reactions" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "count_reactions"('1');
CREATE OR REPLACE TRIGGER "reactions_removed" AFTER DELETE ON "reactions" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "count_reactions"('-1');--> statement-breakpoint
-- Those from before, unless the trigger has counted them meanwhile. It keeps smaller counts, so that
-- no group of these becomes one of which it keeps none while this runs. Each is stored in a
-- transaction of its own: whoever reacts would wait for it, and the channel for them. The first
-- commit ends the search.
DO $$
DECLARE
  each record;
BEGIN
  FOR each IN
    SELECT r.message_id, r.emoji
    FROM reactions r
    GROUP BY 1, 2
    HAVING count(*) >= 200
  LOOP
    COMMIT;
    PERFORM FROM messages msg
    WHERE msg.id = each.message_id
    FOR KEY SHARE;
    CONTINUE WHEN NOT FOUND;
    INSERT INTO reaction_counts (message_id, emoji, count)
    SELECT r.message_id, r.emoji, count(*)
    FROM reactions r
    WHERE r.message_id = each.message_id
      AND r.emoji = each.emoji
    GROUP BY 1, 2
    ON CONFLICT DO NOTHING;
  END LOOP;
END
$$;
