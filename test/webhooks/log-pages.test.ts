import type { Db, Tx } from '@parley/server/db/client'
import { eachPage, type PageStart, startOf } from '@parley/server/jobs/webhooks/log-pages'
import { expect, test } from 'vitest'
import { upTo } from '../support/events.ts'

const time = '2026-11-21T09:30:00Z'
const db = { use: (work: (tx: Tx) => unknown) => work({} as Tx) } as unknown as Pick<Db, 'use'>
const cancelled = () => Object.assign(new Error('cancelled'), { code: '57014' })

/** Reads a log of 23 events; the database cancels what reads more than four at once. */
function readLog() {
  const read: number[] = []
  const run = async (_: Tx, { offset, most }: PageStart) => {
    if (most > 4) throw cancelled()
    const page = upTo(23).slice(offset, offset + most)
    read.push(...page)
    const last = page.at(-1)
    return last === undefined ? [] : [{ ...startOf(time), offset: last, count: page.length }]
  }
  return { read, run }
}

test('pages of the log that take too long are made smaller, and none is left out', async () => {
  const { read, run } = readLog()
  expect(await eachPage(db, startOf(time), run)).toBe(true)
  expect(read).toEqual(upTo(23))
})

test('the log of events is read no further than the reader wants', async () => {
  const { read, run } = readLog()
  expect(await eachPage(db, startOf(time), run, ({ offset }) => offset < 8)).toBe(false)
  expect(read.length).toBeLessThan(13)
  expect(read).toEqual(upTo(read.length))
})
