CREATE TABLE "tombstone_counts" (
	"app_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"part" integer NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "tombstone_counts_channel_id_user_id_part_pk" PRIMARY KEY("channel_id","user_id","part")
);
--> statement-breakpoint
ALTER TABLE "tombstone_counts" ADD CONSTRAINT "tombstone_counts_app_id_channel_id_channels_app_id_id_fk" FOREIGN KEY ("app_id","channel_id") REFERENCES "channels"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
INSERT INTO "tombstone_counts" ("app_id", "channel_id", "user_id", "part", "count")
SELECT msg.app_id, msg.channel_id, author.id, msg.seq / 500, count(*)
FROM messages msg
CROSS JOIN LATERAL (VALUES (msg.user_id), ('')) AS author (id)
WHERE msg.deleted_at IS NOT NULL
GROUP BY 1, 2, 3, 4;
