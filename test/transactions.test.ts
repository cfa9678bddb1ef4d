import { runInTransaction, type StreamedBodyContext } from '@parley/server/core/context'
import type { EventPublisher } from '@parley/server/core/event-bus'
import { pipelined } from '@parley/server/db/pipelined'
import { transaction } from '@parley/server/db/transaction'
import { createRunner } from '@parley/server/http/runner'
import { expect, onTestFinished, test } from 'vitest'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()

const silent: EventPublisher = { publish: () => {}, broadcast: () => {} }

test('a batch whose time was over before its commit was sent has stored nothing', async () => {
  const { appId, db, pool } = world()
  await db`create table overdue (name text)`
  onTestFinished(() => db`drop table overdue`.then(() => {}))
  for (const writesLast of [true, false]) {
    let isOver = false
    const throwIfAborted = () => {
      if (isOver) throw new Error('the time is over')
    }
    const options = { appId, publisher: silent, writesLast, signal: { throwIfAborted } }
    const work = pool.use((connection) =>
      runInTransaction(connection, options, async ({ db, queueWrite }) => {
        await db`select`
        queueWrite(db`insert into overdue values ('late')`)
        isOver = true
      }),
    )
    await expect(work).rejects.toThrow('the time is over')
  }
  expect(await db`select * from overdue`).toEqual([])
})

test('effects of a call run after its events, and both after the commit', async () => {
  const { appId, pool } = world()
  const user = await world().user('notified')
  const happened: string[] = []
  const publish = (events: { type: string }[]) =>
    void happened.push(...events.map(({ type }) => type))
  await pool.use((connection) =>
    runInTransaction(
      connection,
      { appId, publisher: { ...silent, publish } },
      async ({ emitToUser, afterCommit }) => {
        afterCommit(() => void happened.push('effect'))
        emitToUser(user.id, 'workspace.removed', { workspaceId: appId })
      },
    ),
  )
  expect(happened).toEqual(['workspace.removed', 'effect'])
})

test('if one of several statements sent together fails, that one is reported', async () => {
  const failed = world().pool.use((connection) =>
    transaction(connection, (tx) => {
      const cause = tx`select 1 / ${0}::int`.execute()
      const behind = cause.catch(() => tx`select 1`)
      return pipelined([behind, cause])
    }),
  )
  const divisionByZero = '22012'
  await expect(failed).rejects.toMatchObject({ code: divisionByZero })
})

test('a step of a stream whose time was over before its commit has stored nothing', async () => {
  const { db, pool } = world()
  await db`create table overdue_steps (name text)`
  onTestFinished(() => db`drop table overdue_steps`.then(() => {}))
  let isOver = false
  const throwIfAborted = () => {
    if (isOver) throw new Error('the time is over')
  }
  const use: typeof pool.use = (work, until) =>
    pool.use((connection, { signal }) => work(connection, { signal, throwIfAborted }), until)
  const run = ({ inTransaction }: StreamedBodyContext) =>
    inTransaction(async (tx) => {
      await tx`insert into overdue_steps values ('late')`
      isOver = true
    })
  const dependencies = { db: { ...pool, use }, admit: (_: object, work: () => unknown) => work() }
  const runner = createRunner(dependencies as never, { kind: 'streamedBody', run } as never)
  await expect(runner({ caller: {} } as never)).rejects.toThrow('the time is over')
  expect([isOver, await db`select * from overdue_steps`]).toEqual([true, []])
})
