CREATE TABLE "api_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"app_id" uuid NOT NULL,
	"hash" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "apps" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "channels" (
	"id" uuid PRIMARY KEY NOT NULL,
	"app_id" uuid NOT NULL,
	"cid" text NOT NULL,
	"type" text NOT NULL,
	"name" text,
	"image" text,
	"description" text,
	"workspace_id" uuid,
	"created_by" text NOT NULL,
	"client_id" text,
	"dm_key" text,
	"last_seq" integer DEFAULT 0 NOT NULL,
	"rev" integer DEFAULT 0 NOT NULL,
	"member_count" integer DEFAULT 0 NOT NULL,
	"last_activity_at" timestamp with time zone DEFAULT now() NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp with time zone,
	CONSTRAINT "channels_appId_id_unique" UNIQUE("app_id","id"),
	CONSTRAINT "channels_appId_createdBy_clientId_unique" UNIQUE("app_id","created_by","client_id")
);
--> statement-breakpoint
CREATE TABLE "connections" (
	"node_id" text NOT NULL,
	"app_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"connected_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "connections_node_id_app_id_user_id_pk" PRIMARY KEY("node_id","app_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"topic" text NOT NULL,
	"offset" integer NOT NULL,
	"envelope" text NOT NULL,
	"message_id" uuid,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "events_topic_offset_pk" PRIMARY KEY("topic","offset")
);
--> statement-breakpoint
CREATE TABLE "members" (
	"app_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"last_read_seq" integer DEFAULT 0 NOT NULL,
	"unread_after_seq" integer DEFAULT 0 NOT NULL,
	"starred" boolean DEFAULT false NOT NULL,
	"muted" boolean DEFAULT false NOT NULL,
	"joined_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "members_channel_id_user_id_pk" PRIMARY KEY("channel_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "messages" (
	"id" uuid PRIMARY KEY NOT NULL,
	"app_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"seq" integer NOT NULL,
	"rev" integer NOT NULL,
	"text" text NOT NULL,
	"mentions" text[] NOT NULL,
	"attachments" jsonb NOT NULL,
	"link_previews" jsonb,
	"parent_id" uuid,
	"reply_count" integer DEFAULT 0 NOT NULL,
	"client_id" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"edited_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	CONSTRAINT "messages_channelId_seq_unique" UNIQUE("channel_id","seq"),
	CONSTRAINT "messages_channelId_userId_clientId_unique" UNIQUE("channel_id","user_id","client_id")
);
--> statement-breakpoint
CREATE TABLE "pins" (
	"app_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"message_id" uuid PRIMARY KEY NOT NULL,
	"pinned_by" text NOT NULL,
	"pinned_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "reactions" (
	"app_id" uuid NOT NULL,
	"message_id" uuid NOT NULL,
	"emoji" text NOT NULL,
	"user_id" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "reactions_message_id_emoji_user_id_pk" PRIMARY KEY("message_id","emoji","user_id")
);
--> statement-breakpoint
CREATE TABLE "read_marks" (
	"app_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"seq" integer NOT NULL,
	"read_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "read_marks_channel_id_user_id_seq_pk" PRIMARY KEY("channel_id","user_id","seq")
);
--> statement-breakpoint
CREATE TABLE "service" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "staged_jobs" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"task" text NOT NULL,
	"payload" json NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_streams" (
	"app_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"last_offset" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "user_streams_app_id_user_id_pk" PRIMARY KEY("app_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "users" (
	"app_id" uuid NOT NULL,
	"id" text NOT NULL,
	"name" text,
	"display_name" text GENERATED ALWAYS AS (case when deleted_at is null then coalesce(name, id) else 'Deleted user' end) STORED NOT NULL,
	"email" text,
	"image" text,
	"custom" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"token_generation" integer DEFAULT 0 NOT NULL,
	"last_active_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp with time zone,
	CONSTRAINT "users_app_id_id_pk" PRIMARY KEY("app_id","id")
);
--> statement-breakpoint
CREATE TABLE "workspace_members" (
	"app_id" uuid NOT NULL,
	"workspace_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"role" text NOT NULL,
	"joined_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "workspace_members_workspace_id_user_id_pk" PRIMARY KEY("workspace_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "workspaces" (
	"id" uuid PRIMARY KEY NOT NULL,
	"app_id" uuid NOT NULL,
	"name" text NOT NULL,
	"type" text NOT NULL,
	"image" text,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "workspaces_appId_id_unique" UNIQUE("app_id","id")
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_app_id_workspace_id_workspaces_app_id_id_fk" FOREIGN KEY ("app_id","workspace_id") REFERENCES "workspaces"("app_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_app_id_created_by_users_app_id_id_fk" FOREIGN KEY ("app_id","created_by") REFERENCES "users"("app_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_app_id_channel_id_channels_app_id_id_fk" FOREIGN KEY ("app_id","channel_id") REFERENCES "channels"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_app_id_user_id_users_app_id_id_fk" FOREIGN KEY ("app_id","user_id") REFERENCES "users"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "messages_app_id_channel_id_channels_app_id_id_fk" FOREIGN KEY ("app_id","channel_id") REFERENCES "channels"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "messages_app_id_user_id_users_app_id_id_fk" FOREIGN KEY ("app_id","user_id") REFERENCES "users"("app_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pins" ADD CONSTRAINT "pins_message_id_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pins" ADD CONSTRAINT "pins_app_id_channel_id_channels_app_id_id_fk" FOREIGN KEY ("app_id","channel_id") REFERENCES "channels"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reactions" ADD CONSTRAINT "reactions_message_id_messages_id_fk" FOREIGN KEY ("message_id") REFERENCES "messages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "reactions" ADD CONSTRAINT "reactions_app_id_user_id_users_app_id_id_fk" FOREIGN KEY ("app_id","user_id") REFERENCES "users"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "read_marks" ADD CONSTRAINT "read_marks_channel_id_user_id_members_channel_id_user_id_fk" FOREIGN KEY ("channel_id","user_id") REFERENCES "members"("channel_id","user_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_streams" ADD CONSTRAINT "user_streams_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_members" ADD CONSTRAINT "workspace_members_app_id_workspace_id_workspaces_app_id_id_fk" FOREIGN KEY ("app_id","workspace_id") REFERENCES "workspaces"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_members" ADD CONSTRAINT "workspace_members_app_id_user_id_users_app_id_id_fk" FOREIGN KEY ("app_id","user_id") REFERENCES "users"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspaces" ADD CONSTRAINT "workspaces_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "channels_app_id_dm_key_index" ON "channels" USING btree ("app_id","dm_key") WHERE deleted_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX "channels_app_id_cid_index" ON "channels" USING btree ("app_id","cid") WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX "channels_app_id_type_last_activity_at_index" ON "channels" USING btree ("app_id","type","last_activity_at");--> statement-breakpoint
CREATE INDEX "connections_app_id_user_id_index" ON "connections" USING btree ("app_id","user_id");--> statement-breakpoint
CREATE INDEX "events_message_id_index" ON "events" USING btree ("message_id") WHERE message_id is not null;--> statement-breakpoint
CREATE INDEX "events_created_at_index" ON "events" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "members_app_id_user_id_index" ON "members" USING btree ("app_id","user_id");--> statement-breakpoint
CREATE INDEX "messages_channel_id_rev_index" ON "messages" USING btree ("channel_id","rev");--> statement-breakpoint
CREATE INDEX "messages_channel_id_user_id_seq_index" ON "messages" USING btree ("channel_id","user_id","seq");--> statement-breakpoint
CREATE INDEX "messages_deleted" ON "messages" USING btree ("channel_id","seq") WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX "messages_parent_id_seq_index" ON "messages" USING btree ("parent_id","seq") WHERE parent_id is not null;--> statement-breakpoint
CREATE INDEX "pins_channel_id_pinned_at_index" ON "pins" USING btree ("channel_id","pinned_at");--> statement-breakpoint
CREATE INDEX "reactions_app_id_user_id_index" ON "reactions" USING btree ("app_id","user_id");--> statement-breakpoint
CREATE INDEX "users_app_id_display_name_id_index" ON "users" USING btree ("app_id","display_name","id");--> statement-breakpoint
CREATE INDEX "workspace_members_app_id_user_id_index" ON "workspace_members" USING btree ("app_id","user_id");--> statement-breakpoint
ALTER TABLE "connections" SET UNLOGGED;--> statement-breakpoint
INSERT INTO "service" ("key", "value") VALUES ('epoch', substr(md5(random()::text || clock_timestamp()::text), 1, 16));
