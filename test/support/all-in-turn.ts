/** Carries out all of them, even if some fail, and fails like the first that did. */
export async function allInTurn(...steps: (() => unknown)[]) {
  const failures: unknown[] = []
  for (const step of steps)
    try {
      await step()
    } catch (error) {
      failures.push(error)
    }
  if (failures.length > 0) throw failures[0]
}
