DROP INDEX "messages_deleted";--> statement-breakpoint
CREATE INDEX "members_channel_id_joined_at_user_id_index" ON "members" USING btree ("channel_id","joined_at","user_id");--> statement-breakpoint
CREATE INDEX "messages_deleted" ON "messages" USING btree ("channel_id","seq","user_id") WHERE deleted_at is not null;