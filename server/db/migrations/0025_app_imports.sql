CREATE TABLE "app_imports" (
	"app_id" uuid PRIMARY KEY NOT NULL,
	"export_id" uuid NOT NULL,
	"batches" integer NOT NULL,
	"checksum" text NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "app_imports_app_id_apps_id_fk" FOREIGN KEY ("app_id") REFERENCES "apps"("id") ON DELETE cascade
);
