import { DeadlineError } from '@parley/server/db/client'
import { createGroupCommit } from '@parley/server/http/group-commit'
import { coalesce } from '@parley/server/realtime/coalesce'
import { describe, expect, test } from 'vitest'

/** A statement that several callers share: it fails as a whole if one of them is guilty. */
const createStatement = (error = new Error('integer out of range')) => {
  const batches: string[][] = []
  const run = async (items: string[]) => {
    batches.push(items)
    await null
    if (items.includes('guilty')) throw error
    return items.map((item) => `${item} done`)
  }
  return { batches, run }
}
const callers = ['first', 'ana', 'guilty', 'ben']
const results = ['first done', 'ana done', 'integer out of range', 'ben done']
const settled = async (calls: Promise<string>[]) =>
  (await Promise.allSettled(calls)).map((call) =>
    call.status === 'fulfilled' ? call.value : call.reason.message,
  )

describe('a shared batch that fails', () => {
  test('refuses only the frame that failed, of several connections', async () => {
    const { batches, run } = createStatement()
    const call = coalesce(run, { maxBatch: 20 })
    expect(await settled(callers.map(call))).toEqual(results)
    expect(batches).toEqual([callers, ...callers.map((caller) => [caller])])
  })

  test('refuses only the command of a group commit that failed', async () => {
    const { run } = createStatement()
    const attempt = createGroupCommit<string, string>({
      run,
      bytesOf: () => 1,
      batch: { commands: 64, bytes: 1_000 },
      waiting: { commands: 64, bytes: 1_000 },
      onRefused: () => {},
    })
    const until = performance.now() + 60_000
    const keys = { group: 'app', resource: 'channel' }
    expect(await settled(callers.map((caller) => attempt(keys, caller, until)))).toEqual(results)
  })

  test('is not repeated when the database is out of reach', async () => {
    const error = new DeadlineError()
    const { batches, run } = createStatement(error)
    const call = coalesce(run, { maxBatch: 20 })
    expect(await settled(callers.map(call))).toEqual(callers.map(() => error.message))
    expect(batches).toEqual([callers])
  })
})

test('a batch is bounded by the sizes of its items, a larger item has one to itself', async () => {
  const { batches, run } = createStatement()
  const call = coalesce(run, { maxBatch: 10, sizeOf: ({ length }) => length })
  await Promise.all(['aaaaaaaaaaaa', 'bbbbb', 'ccccc', 'd'].map(call))
  expect(batches).toEqual([['aaaaaaaaaaaa'], ['bbbbb', 'ccccc'], ['d']])
})
