CREATE TABLE "message_streams" (
	"message_id" uuid PRIMARY KEY NOT NULL,
	"app_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"tail" text DEFAULT '' NOT NULL,
	"length" integer NOT NULL,
	"characters" integer NOT NULL,
	"appended_at" timestamp with time zone DEFAULT now() NOT NULL,
	"stored_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "streaming" boolean;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "interrupted" boolean;--> statement-breakpoint
ALTER TABLE "message_streams" ADD CONSTRAINT "message_streams_message_id_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "message_streams_stored_at_index" ON "message_streams" USING btree ("stored_at");