/** Names a schema in a database URL, for a service that has only that: see DATABASE_SCHEMA. */
export function withSchema(databaseUrl: string, schema: string) {
  const url = new URL(databaseUrl)
  url.searchParams.set('search_path', schema)
  return url.href
}

/** The schema that the URL names. Without, our tables are where PostgreSQL creates them: public. */
export const ownSchema = (databaseUrl: string) =>
  new URL(databaseUrl).searchParams.get('search_path') ?? undefined

/** PostgreSQL cuts the names of connections here. */
export const LONGEST_NAME = 63

/** The name of a connection with the service's schema, for services that share a database. */
export function connectionName(name: string, databaseUrl: string) {
  const schema = ownSchema(databaseUrl)
  return schema === undefined ? name : `${name}/${schema}`.slice(0, LONGEST_NAME)
}
