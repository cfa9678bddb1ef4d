import { contract, limits } from '@parley/contract'
import type { AdmissionRequest } from '@parley/server/core/admission'
import { createMetrics } from '@parley/server/core/metrics'
import { CONTENDED, implementShared } from '@parley/server/core/operation'
import { createRunner } from '@parley/server/http/runner'
import { expect, test, vi } from 'vitest'
import { upTo } from './support/events.ts'
import { recorded, startGroup } from './support/group-commit.ts'
import { until } from './support/until.ts'

/** Batches of one group that run at the same time. */
const later = () => performance.now() + 60_000

test('a group runs a second batch beside its first only if the second is full', async () => {
  const { attempt, batches } = recorded({ batch: { commands: 3, bytes: 1_000 }, batchesAtOnce: 2 })
  const send = (command: string) =>
    attempt({ group: 'app', resource: command.slice(0, 1) }, command, later())
  const answers = ['a1', 'b1', 'c1'].map(send)
  expect(batches.map(({ commands }) => commands)).toEqual([['a1']])
  answers.push(send('d1'))
  expect(batches.map(({ commands }) => commands)).toEqual([['a1'], ['b1', 'c1', 'd1']])
  answers.push(...['e1', 'f1', 'g1'].map(send))
  expect(batches).toHaveLength(2)
  batches[1]?.settle()
  await answers[1]
  await vi.waitUntil(() => batches[2])
  expect(batches[2]?.commands).toEqual(['e1', 'f1', 'g1'])
  for (const { settle } of batches) settle()
  await Promise.all(answers)
})

test('a group has no more batches at once than it may have', async () => {
  const { attempt, batches } = recorded({ batch: { commands: 2, bytes: 1_000 }, batchesAtOnce: 2 })
  const answers = upTo(9).map((n) =>
    attempt({ group: 'app', resource: `channel${n}` }, `${n}`, later()),
  )
  expect(batches).toHaveLength(2)
  await vi.waitUntil(() => {
    for (const { settle } of batches) settle()
    return batches.length === 5
  })
  for (const { settle } of batches) settle()
  await Promise.all(answers)
})

test('commands of one channel never run in two batches at once', async () => {
  const { attempt, batches, batch } = recorded({
    batch: { commands: 2, bytes: 1_000 },
    batchesAtOnce: 2,
  })
  const send = (command: string) =>
    attempt({ group: 'app', resource: command.slice(0, 1) }, command, later())
  const answers = ['a1', 'a2', 'a3', 'b1'].map(send)
  // a2 and a3 wait behind a1: only the command of the other channel could run, no full batch.
  expect(batches.map(({ commands }) => commands)).toEqual([['a1']])
  answers.push(send('c1'))
  expect(batches.map(({ commands }) => commands)).toEqual([['a1'], ['b1', 'c1']])
  batches[1]?.settle()
  await Promise.all(answers.slice(3))
  expect(batches).toHaveLength(2)
  batches[0]?.settle()
  const last = await batch(2)
  expect(last.commands).toEqual(['a2', 'a3'])
  last.settle()
  await Promise.all(answers)
})

test('a channel that is locked no more shares the batches of its group again', async () => {
  let isLocked = true
  const { send, finish, running } = startGroup((command) => isLocked && command.startsWith('a'))
  const first = send('a1')
  await finish(0)
  await finish(1)
  expect(await first).toBe('a1')
  isLocked = false
  const answers = [send('b1'), send('a2'), send('c1')]
  await finish(2)
  expect(running.slice(2)).toMatchObject([
    { commands: ['b1'], waitsForLocks: false },
    { commands: ['a2', 'c1'], waitsForLocks: false },
  ])
  await finish(3)
  await Promise.all(answers)
})

test('a batch is admitted for its app, or its caller if it waits, and refusals count', async () => {
  const metrics = createMetrics()
  const admitted: AdmissionRequest[] = []
  const implementation = implementShared(contract.reads.mark, {
    keysOf: () => ({ group: 'app', resource: 'channel' }),
    bytesOf: () => 1,
    run: (_, commands, { waitsForLocks }) =>
      waitsForLocks ? new Promise(() => {}) : Promise.resolve(commands.map(() => CONTENDED)),
  })
  const dependencies = {
    db: { use: (work: (db: object) => unknown) => work({}) },
    admit: (request: AdmissionRequest, work: () => unknown) => {
      admitted.push(request)
      return work()
    },
    metrics,
    batchRunners: new Map(),
  }
  const run = createRunner(dependencies as never, implementation as never)
  const caller = { appId: 'app', userId: 'ana', isAdmin: false }
  const call = { caller, input: {}, until: performance.now() + 60_000 } as never
  const room = limits.sharedTransactions.waiting.commands / 2
  for (let count = 0; count < room; count++) void run(call)
  await expect(run(call)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  const [refused] = (await metrics.callsRefused.get()).values
  expect(refused).toMatchObject({ labels: { reason: 'full' }, value: 1 })
  await until(() => admitted.length === 2)
  expect(admitted).toMatchObject([
    { appId: 'app', queue: 'sends' },
    { appId: 'app', queue: 'waits', first: 'ana' },
  ])
})
