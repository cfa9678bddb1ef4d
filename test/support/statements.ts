/** The statements that the server sends to its database. */
export const statements: string[] = []
/** How often the server has turned to its sockets: an answer is read in a later turn only. */
let turn = 0
const turns: number[] = []
export const onStatement = (statement: string) => {
  turns[statements.push(statement) - 1] = turn
  setImmediate(() => {
    turn += 1
  })
}

/**
 * Statements of no operation: every 5 s the lookup of revoked tokens, every 2 s the last activity,
 * and of keys their last use.
 */
export const isElsewhere = (statement: string) => elsewhere.test(statement)
const elsewhere =
  /^\s*select\s+u\.token_generation\b|update users u\s+set last_active_at|set last_used_at = now/

export async function statementsOf(work: () => Promise<unknown>) {
  statements.length = 0
  await work()
  return statements.filter((statement) => !isElsewhere(statement))
}

export const isWork = (statement: string) =>
  !/^\s*(begin|commit)/i.test(statement) && !isElsewhere(statement)
export const workOf = async (operation: () => Promise<unknown>) =>
  (await statementsOf(operation)).filter(isWork)

/** The statements of some work by the round trips that they make: together without an answer. */
export async function tripsOf(work: () => Promise<unknown>) {
  statements.length = 0
  await work()
  const trips = new Map<number | undefined, string[]>()
  for (const [index, statement] of statements.entries()) {
    if (isElsewhere(statement)) continue
    trips.set(turns[index], [...(trips.get(turns[index]) ?? []), statement])
  }
  return [...trips.values()]
}
