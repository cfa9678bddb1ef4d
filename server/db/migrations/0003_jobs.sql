CREATE TABLE "job_workers" (
	"id" text PRIMARY KEY NOT NULL,
	"seen_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "link_previews" (
	"app_id" uuid NOT NULL,
	"url_hash" text NOT NULL,
	"preview" jsonb,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "link_previews_app_id_url_hash_pk" PRIMARY KEY("app_id","url_hash")
);
--> statement-breakpoint
ALTER TABLE "link_previews" ADD CONSTRAINT "link_previews_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "link_previews_expires_at_index" ON "link_previews" USING btree ("expires_at");