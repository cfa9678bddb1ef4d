const refuse = () => () => {
  throw new Error('a route has a schema, which nothing checks')
}

/**
 * Operations check what they take and answer; no route has a schema of Fastify's. Without this,
 * each start would load a hundred modules that compile them.
 */
export const noSchemas = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
}
