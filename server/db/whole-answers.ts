import type postgres from 'postgres'

/** A query, which Postgres.js makes of a tagged template. */
type SentQuery = {
  executed: boolean
  resolve(answer: unknown): void
  handle(): Promise<void>
}

const repaired = new WeakSet<SentQuery>()

/**
 * Works around a bug of Postgres.js (its issues 1119 and 1181) in all clients, given one of them: a
 * connection does not reset its count of rows when a statement fails after its first rows, so the
 * next answer began with as many holes. Not repaired are the first part of a cursor, and the first
 * answer to several statements in one text: only commands and migrations have these, and a failure
 * ends them.
 */
export function withWholeAnswers<Client extends Pick<postgres.Sql, 'unsafe'>>(sql: Client): Client {
  const queries: SentQuery = Object.getPrototypeOf(sql.unsafe(''))
  if (!repaired.has(queries)) repair(queries)
  return sql
}

function repair(queries: SentQuery) {
  repaired.add(queries)
  const { handle } = queries
  queries.handle = function (this: SentQuery) {
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
