CREATE TABLE "devices" (
	"id" uuid PRIMARY KEY NOT NULL,
	"app_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"platform" text NOT NULL,
	"provider" text NOT NULL,
	"token" text NOT NULL,
	"device_id" text,
	"app_version" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "devices_appId_token_unique" UNIQUE("app_id","token"),
	CONSTRAINT "devices_appId_userId_deviceId_unique" UNIQUE("app_id","user_id","device_id")
);
--> statement-breakpoint
CREATE TABLE "former_members" (
	"app_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	CONSTRAINT "former_members_channel_id_user_id_pk" PRIMARY KEY("channel_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "preferences" (
	"app_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"chosen" jsonb NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "preferences_app_id_user_id_pk" PRIMARY KEY("app_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "workspace_invite_uses" (
	"invite_id" uuid NOT NULL,
	"user_id" text NOT NULL,
	"used_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "workspace_invite_uses_invite_id_user_id_pk" PRIMARY KEY("invite_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "workspace_invites" (
	"id" uuid PRIMARY KEY NOT NULL,
	"app_id" uuid NOT NULL,
	"workspace_id" uuid NOT NULL,
	"token_hash" text NOT NULL,
	"role" text NOT NULL,
	"max_uses" integer,
	"uses" integer DEFAULT 0 NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "workspace_invites_tokenHash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "forgotten_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "devices" ADD CONSTRAINT "devices_app_id_user_id_users_app_id_id_fk" FOREIGN KEY ("app_id","user_id") REFERENCES "users"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "former_members" ADD CONSTRAINT "former_members_app_id_channel_id_channels_app_id_id_fk" FOREIGN KEY ("app_id","channel_id") REFERENCES "channels"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "preferences" ADD CONSTRAINT "preferences_app_id_user_id_users_app_id_id_fk" FOREIGN KEY ("app_id","user_id") REFERENCES "users"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_invite_uses" ADD CONSTRAINT "workspace_invite_uses_invite_id_workspace_invites_id_fk" FOREIGN KEY ("invite_id") REFERENCES "workspace_invites"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "workspace_invites" ADD CONSTRAINT "workspace_invites_app_id_workspace_id_workspaces_app_id_id_fk" FOREIGN KEY ("app_id","workspace_id") REFERENCES "workspaces"("app_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "former_members_app_id_user_id_index" ON "former_members" USING btree ("app_id","user_id");--> statement-breakpoint
CREATE INDEX "workspace_invites_expires_at_index" ON "workspace_invites" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "channels_workspace_id_index" ON "channels" USING btree ("workspace_id") WHERE workspace_id is not null and deleted_at is null;--> statement-breakpoint
CREATE INDEX "channels_to_purge" ON "channels" USING btree ("deleted_at") WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX "read_marks_read_at" ON "read_marks" USING brin ("read_at");--> statement-breakpoint
CREATE INDEX "users_to_forget" ON "users" USING btree ("deleted_at") WHERE deleted_at is not null and forgotten_at is null;