import { CONTENDED } from '@parley/server/core/operation'
import { createGroupCommit } from '@parley/server/http/group-commit'
import { expect, onTestFinished, test, vi } from 'vitest'

const channel = { group: 'app', resource: 'channel' }
const later = () => performance.now() + 60_000

/** A group commit whose batches are recorded. Each runs once it is released. */
function recorded({ maxBatchSize = 64 } = {}) {
  const batches: { commands: string[]; until: number; settle: (error?: Error) => void }[] = []
  const attempt = createGroupCommit<string, string>({
    maxBatchSize,
    run: (commands, { until }) =>
      new Promise((resolve, reject) => {
        const results = commands.map((command) => `${command} done`)
        const settle = (error?: Error) => (error ? reject(error) : resolve(results))
        batches.push({ commands, until, settle })
      }),
  })
  const batch = (index: number) => vi.waitUntil(() => batches[index])
  return { attempt, batches, batch }
}

test('a command whose time runs out while its batch is gathered is still answered', async () => {
  const attempt = createGroupCommit<string, string>({
    run: async (commands) => commands.map((command) => `${command} done`),
    maxBatchSize: 64,
  })
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now++)
  onTestFinished(() => clock.mockRestore())

  // At the first look at the clock there is just enough time left, at the second there is not.
  expect(await attempt(channel, 'send', 1_000)).toBe('send done')
})

/** A group whose transactions end by hand. */
function startGroup(isContended = (_: string) => false) {
  const running: { commands: string[]; mayWait: boolean; finish: () => void }[] = []
  const attempt = createGroupCommit<string, string>({
    run: (commands, { mayWait }) =>
      new Promise((resolve) => {
        const results = commands.map((command) =>
          !mayWait && isContended(command) ? CONTENDED : command,
        )
        running.push({ commands, mayWait, finish: () => resolve(results) })
      }),
    maxBatchSize: 64,
  })
  const send = (command: string) => {
    const [resource = ''] = command
    return attempt({ group: 'app', resource }, command, performance.now() + 60_000)
  }
  const batches = () => running.map(({ commands }) => commands)
  const finish = async (index: number) => {
    running[index]?.finish()
    await new Promise(setImmediate)
  }
  return { send, batches, finish, running }
}

test('commands of different channels that arrive during a commit share the next one', async () => {
  const { send, batches, finish } = startGroup()
  const answers = [send('a1'), send('b1'), send('c1')]
  expect(batches()).toEqual([['a1']])
  await finish(0)
  expect(batches()).toEqual([['a1'], ['b1', 'c1']])
  await finish(1)
  expect(await Promise.all(answers)).toEqual(['a1', 'b1', 'c1'])
})

test('only commands of a locked channel wait for its lock, and they keep their order', async () => {
  const { send, batches, finish, running } = startGroup((command) => command.startsWith('a'))
  const answers = [send('a1'), send('a2'), send('b1'), send('a3')]
  await finish(0)
  // a1 waits for the lock; a2 and a3, which come behind it, do not ask for the lock before it.
  expect(batches()).toEqual([['a1'], ['a1'], ['b1']])
  expect(running.map(({ mayWait }) => mayWait)).toEqual([false, true, false])
  await finish(2)
  expect(await answers[2]).toBe('b1')
  await finish(1)
  expect(batches().at(-1)).toEqual(['a2', 'a3'])
  await finish(3)
  expect(await Promise.all(answers)).toEqual(['a1', 'a2', 'b1', 'a3'])
})

test('a command behind one that waits for its lock does not also wait for its group', async () => {
  const { send, batches, finish } = startGroup((command) => command.startsWith('a'))
  const answers = [send('a1'), send('b1')]
  await finish(0)
  expect(batches()).toEqual([['a1'], ['a1'], ['b1']])
  answers.push(send('a2'))
  await finish(1)
  expect(batches().at(-1)).toEqual(['a2'])
  for (const index of [2, 3]) await finish(index)
  expect(await Promise.all(answers)).toEqual(['a1', 'b1', 'a2'])
})

test('waiting commands share the next batches in order, up to their largest size', async () => {
  const { attempt, batch } = recorded({ maxBatchSize: 2 })
  const answers = ['a', 'b', 'c', 'd'].map((command) => attempt(channel, command, later()))
  for (const [index, commands] of [['a'], ['b', 'c'], ['d']].entries()) {
    const running = await batch(index)
    expect(running.commands).toEqual(commands)
    running.settle()
  }
  expect(await Promise.all(answers)).toEqual(['a done', 'b done', 'c done', 'd done'])
})

test('a busy key delays no other, and runs commands again once it is idle', async () => {
  const { attempt, batch } = recorded()
  const first = attempt(channel, 'a', later())
  const other = attempt({ group: 'other app', resource: 'other' }, 'b', later())
  const second = await batch(1)
  expect(second.commands).toEqual(['b'])
  for (const running of [second, await batch(0)]) running.settle()
  expect(await Promise.all([first, other])).toEqual(['a done', 'b done'])

  const again = attempt(channel, 'c', later())
  const third = await batch(2)
  third.settle()
  expect(await again).toBe('c done')
})

test('a batch has the earliest deadline of its commands', async () => {
  const { attempt, batch } = recorded()
  const [soon, late] = [performance.now() + 30_000, later()]
  const answers = [late, late, soon].map((until) => attempt(channel, 'a', until))
  const first = await batch(0)
  first.settle()
  const second = await batch(1)
  expect(second).toMatchObject({ commands: ['a', 'a'], until: soon })
  second.settle()
  await Promise.all(answers)
})

test('a command with hardly any time left is refused, and takes no other down', async () => {
  const { attempt, batch, batches } = recorded()
  const first = attempt(channel, 'a', later())
  const expired = attempt(channel, 'b', performance.now() + 900)
  const third = attempt(channel, 'c', later())
  const onRefused = vi.fn()
  expired.catch(onRefused)
  const one = await batch(0)
  one.settle()
  const two = await batch(1)
  expect(two.commands).toEqual(['c'])
  expect(onRefused.mock.lastCall).toMatchObject([
    { message: 'the database did not answer in time' },
  ])
  two.settle()
  expect(await Promise.all([first, third])).toEqual(['a done', 'c done'])
  expect(batches).toHaveLength(2)
})

test('when a batch fails every caller is told, and the next batch runs', async () => {
  const { attempt, batch } = recorded()
  const first = attempt(channel, 'a', later())
  const others = ['b', 'c'].map((command) => attempt(channel, command, later()))
  const one = await batch(0)
  one.settle()
  expect(await first).toBe('a done')
  const two = await batch(1)
  const last = attempt(channel, 'd', later())
  two.settle(Object.assign(new Error('no database'), { code: 'ECONNREFUSED' }))
  expect(await Promise.allSettled(others)).toMatchObject([
    { status: 'rejected', reason: { message: 'no database' } },
    { status: 'rejected', reason: { message: 'no database' } },
  ])
  const three = await batch(2)
  three.settle()
  expect(await last).toBe('d done')
})
