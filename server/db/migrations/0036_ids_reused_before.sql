-- Ids that were used again before 0034. Who was deleted has a higher generation of tokens. Without
-- an import nothing of a user is older than the user; with one, the audit log has the erasures.
UPDATE "users" u
SET "reused_at" = u."created_at"
WHERE u."reused_at" IS NULL
  AND u."deleted_at" IS NULL
  AND u."token_generation" > 0
  AND (
    u."app_id" NOT IN (SELECT i."app_id" FROM "imports" i)
    OR (u."app_id", u."id") IN (
      SELECT aud."app_id", jsonb_array_elements_text(aud."target" -> 'userIds')
      FROM "audit" aud
      WHERE aud."operation" = 'users.erased'
    )
  );
