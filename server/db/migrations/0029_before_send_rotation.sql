ALTER TABLE "before_send_hooks" ADD COLUMN "previous_secret" text;--> statement-breakpoint
ALTER TABLE "before_send_hooks" ADD COLUMN "previous_secret_expires_at" timestamp with time zone;