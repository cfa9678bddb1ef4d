ALTER TABLE "channels" ADD COLUMN "active_hour" timestamp with time zone DEFAULT date_trunc('hour', now(), 'UTC') NOT NULL;--> statement-breakpoint
ALTER TABLE "channels" SET (fillfactor = 80);--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "author_seq" integer;