import { expect, test, vi } from 'vitest'
import { upTo } from './support/events.ts'
import { recorded, startGroup } from './support/group-commit.ts'

/** Batches of one group that run at the same time. */
const later = () => performance.now() + 60_000

test('a second batch of a group runs beside the first only once it is full', async () => {
  const { attempt, batches } = recorded({ batch: { commands: 3, bytes: 1_000 }, lanes: 2 })
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
  const { attempt, batches } = recorded({ batch: { commands: 2, bytes: 1_000 }, lanes: 2 })
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
  const { attempt, batches, batch } = recorded({ batch: { commands: 2, bytes: 1_000 }, lanes: 2 })
  const send = (command: string) =>
    attempt({ group: 'app', resource: command.slice(0, 1) }, command, later())
  const answers = ['a1', 'a2', 'a3', 'b1'].map(send)
  // Two wait behind the one that runs: only the other channel's could run, which is no full batch.
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
    { commands: ['b1'], mayWait: false },
    { commands: ['a2', 'c1'], mayWait: false },
  ])
  await finish(3)
  await Promise.all(answers)
})
