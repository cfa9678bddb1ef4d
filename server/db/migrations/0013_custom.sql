ALTER TABLE "channels" ADD COLUMN "custom" jsonb;--> statement-breakpoint
ALTER TABLE "members" ADD COLUMN "custom" jsonb;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "custom" jsonb;