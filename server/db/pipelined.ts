import postgres from 'postgres'

/** PostgreSQL's answer to statements after one that failed in the same transaction. */
const IN_FAILED_TRANSACTION = '25P02'

/**
 * Waits for work of one transaction whose statements are sent together. PostgreSQL refuses those
 * behind one that has failed, and the answers may arrive at the same time. Promise.all would then
 * reject with the error that passes through fewer functions, this rejects with the cause.
 */
export async function pipelined<const Work extends readonly unknown[]>(
  work: Work,
): Promise<{ -readonly [Index in keyof Work]: Awaited<Work[Index]> }> {
  const settled = await Promise.allSettled(work)
  const errors = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  if (errors.length > 0) throw errors.find((error) => !isConsequence(error)) ?? errors[0]
  // The results, in the order of the work.
  return settled.map((one) => one.status === 'fulfilled' && one.value) as never
}

const isConsequence = (error: unknown) =>
  error instanceof postgres.PostgresError && error.code === IN_FAILED_TRANSACTION
