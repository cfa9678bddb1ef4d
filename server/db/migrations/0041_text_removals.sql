CREATE TABLE "text_removals" (
	"message_id" uuid PRIMARY KEY NOT NULL,
	"app_id" uuid NOT NULL,
	"topic" text NOT NULL,
	"after" integer NOT NULL,
	"rev" integer NOT NULL,
	"tombstone" text NOT NULL,
	"quote" jsonb NOT NULL
);
--> statement-breakpoint
CREATE INDEX "text_removals_topic_index" ON "text_removals" USING btree ("topic");--> statement-breakpoint
CREATE INDEX "text_removals_app_id_index" ON "text_removals" USING btree ("app_id");