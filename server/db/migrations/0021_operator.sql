CREATE TABLE "active_users" (
	"app_id" uuid NOT NULL,
	"day" date NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "active_users_app_id_day_pk" PRIMARY KEY("app_id","day")
);
--> statement-breakpoint
CREATE TABLE "audit" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"app_id" uuid,
	"actor" text NOT NULL,
	"key_id" uuid,
	"user_id" text,
	"operation" text NOT NULL,
	"target" jsonb NOT NULL,
	"request_id" text
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "name" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "scopes" text[] DEFAULT '{"full"}' NOT NULL;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "expires_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "last_used_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "apps" ADD COLUMN "disabled_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "apps" ADD COLUMN "deleted_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "apps" ADD COLUMN "message_retention_days" integer;--> statement-breakpoint
ALTER TABLE "apps" ADD COLUMN "user_admin_access" text;--> statement-breakpoint
ALTER TABLE "apps" ADD COLUMN "rate_limits" jsonb;--> statement-breakpoint
ALTER TABLE "active_users" ADD CONSTRAINT "active_users_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_of_app" ON "audit" USING btree ("app_id","id");--> statement-breakpoint
CREATE INDEX "api_keys_app_id_index" ON "api_keys" USING btree ("app_id");--> statement-breakpoint
CREATE INDEX "apps_to_purge" ON "apps" USING btree ("deleted_at") WHERE deleted_at is not null;--> statement-breakpoint
CREATE INDEX "apps_with_retention" ON "apps" USING btree ("id") WHERE message_retention_days is not null;--> statement-breakpoint
-- Entries are never changed. They are deleted by the retention alone, which says so in its
-- transaction.
CREATE FUNCTION "keep_audit"() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
  IF tg_op = 'DELETE' AND current_setting('parley.audit_retention', true) = 'on' THEN
    RETURN old;
  END IF;
  RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'restrict_violation';
END
$$;--> statement-breakpoint
CREATE TRIGGER "audit_is_append_only" BEFORE UPDATE OR DELETE ON "audit" FOR EACH ROW EXECUTE FUNCTION "keep_audit"();--> statement-breakpoint
CREATE TRIGGER "audit_is_not_truncated" BEFORE TRUNCATE ON "audit" FOR EACH STATEMENT EXECUTE FUNCTION "keep_audit"();
