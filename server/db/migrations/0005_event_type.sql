ALTER TABLE "events" ADD COLUMN "type" text;--> statement-breakpoint
UPDATE "events" SET "type" = "envelope"::json->>'type';--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "type" SET NOT NULL;
