/** The statements that the server sends to its database. */
export const statements: string[] = []
export const onStatement = (statement: string) => void statements.push(statement)

/**
 * Statements of no operation: every 5 s the lookup of revoked tokens, every 2 s the last activity.
 */
export const isElsewhere = (statement: string) =>
  /^\s*select u\.token_generation\s+from users u|update users u\s+set last_active_at/.test(
    statement,
  )

export async function statementsOf(work: () => Promise<unknown>) {
  statements.length = 0
  await work()
  return statements.filter((statement) => !isElsewhere(statement))
}

export const isWork = (statement: string) =>
  !/^\s*(begin|commit)/i.test(statement) && !isElsewhere(statement)
export const workOf = async (operation: () => Promise<unknown>) =>
  (await statementsOf(operation)).filter(isWork)
