CREATE INDEX "messages_own" ON "messages" USING btree ("channel_id",user_id collate "C","seq");--> statement-breakpoint
DROP INDEX "messages_channel_id_user_id_seq_index";
