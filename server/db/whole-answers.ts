import type postgres from 'postgres'

/** What Postgres.js makes of a tagged template. */
type Query = {
  executed: boolean
  resolve(answer: unknown): void
  handle(): Promise<void>
}

const repaired = new WeakSet<Query>()

/**
 * Repairs all clients of Postgres.js, given one of them: the place of a row in its answer is
 * counted by connection, and the count stays where it is when a statement fails after its first
 * rows. The rows of the next answer then came behind as many holes (its issues 1119 and 1181). Not
 * repaired are the first part of a cursor, and the first answer to several statements in one text:
 * only commands and migrations have these, and a failure ends them.
 */
export function withWholeAnswers<Client extends Pick<postgres.Sql, 'unsafe'>>(sql: Client): Client {
  const queries: Query = Object.getPrototypeOf(sql.unsafe(''))
  if (!repaired.has(queries)) repair(queries)
  return sql
}

function repair(queries: Query) {
  repaired.add(queries)
  const { handle } = queries
  queries.handle = function (this: Query) {
    if (!this.executed) {
      const { resolve } = this
      this.resolve = (answer) => resolve(withoutHoles(answer))
    }
    return handle.call(this)
  }
}

function withoutHoles(answer: unknown) {
  if (Array.isArray(answer) && answer.length > 0 && !(0 in answer)) {
    const first = answer.findIndex((_, index) => index in answer)
    answer.splice(0, first)
  }
  return answer
}
