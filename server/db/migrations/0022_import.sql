-- Run statement by statement, without a transaction: nothing here locks a table for long, and an
-- interrupted run begins again.
CREATE TABLE IF NOT EXISTS "imports" (
	"app_id" uuid PRIMARY KEY NOT NULL,
	"run_id" uuid NOT NULL,
	"leased_until" timestamp with time zone NOT NULL,
	CONSTRAINT "imports_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS "imported_rows" (
	"app_id" uuid NOT NULL,
	"record" text NOT NULL,
	"key" text NOT NULL,
	"channel_id" uuid NOT NULL,
	"position" bigserial NOT NULL,
	"line" integer NOT NULL,
	"row" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "imported_rows_app_id_record_key_pk" PRIMARY KEY("app_id","record","key"),
	CONSTRAINT "imported_rows_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade,
	CONSTRAINT "imported_rows_app_id_channel_id_channels_app_id_id_fk" FOREIGN KEY ("app_id","channel_id") REFERENCES "channels"("app_id","id") ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "imported_rows_due" ON "imported_rows" USING btree ("channel_id","record","created_at","position");--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "channels_importing";--> statement-breakpoint
CREATE UNIQUE INDEX CONCURRENTLY "channels_importing" ON "channels" USING btree ("app_id","dm_key") WHERE deleted_at = 'infinity';
