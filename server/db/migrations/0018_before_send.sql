CREATE TABLE "before_send_hooks" (
	"app_id" uuid PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"on_error" text NOT NULL,
	"timeout_ms" integer NOT NULL,
	"secret" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "before_send_hooks" ADD CONSTRAINT "before_send_hooks_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade ON UPDATE no action;