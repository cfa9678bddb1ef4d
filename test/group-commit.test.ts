import { createGroupCommit } from '@parley/server/http/group-commit'
import { createWaitingRoom } from '@parley/server/http/waiting-room'
import { expect, onTestFinished, test, vi } from 'vitest'
import { upTo } from './support/events.ts'
import { recorded, sizes, startGroup } from './support/group-commit.ts'

const channel = { group: 'app', resource: 'channel' }
const later = () => performance.now() + 60_000

test('a command whose time runs out while its batch is gathered is still answered', async () => {
  const attempt = createGroupCommit<string, string>({
    run: async (commands) => commands.map((command) => `${command} done`),
    ...sizes,
  })
  let now = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now++)
  onTestFinished(() => clock.mockRestore())

  // At the first look at the clock there is just enough time left, at the second there is not.
  expect(await attempt(channel, 'send', 1_000)).toBe('send done')
})

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
  expect(running.map(({ waitsForLocks }) => waitsForLocks)).toEqual([false, true, false])
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
  // Commands of channels that are not locked still share a transaction.
  answers.push(send('c1'), send('d1'))
  await finish(2)
  expect(batches().at(-1)).toEqual(['c1', 'd1'])
  for (const index of [3, 4]) await finish(index)
  expect(await Promise.all(answers)).toEqual(['a1', 'b1', 'a2', 'c1', 'd1'])
})

test('a channel with many waiting commands leaves places in the next batch to others', async () => {
  const { attempt, batch } = recorded({ batch: { commands: 3, bytes: 1_000 } })
  const commands = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2']
  const answers = commands.map((command) =>
    attempt({ group: 'app', resource: command.slice(0, 1) }, command, later()),
  )
  const batches = [['a1'], ['a2', 'b1', 'c1'], ['a3', 'b2', 'a4']]
  for (const [index, expected] of batches.entries()) {
    const running = await batch(index)
    expect(running.commands).toEqual(expected)
    running.settle()
  }
  await Promise.all(answers)
})

test('commands that wait for a lock are not overtaken by later ones of their channel', async () => {
  const { send, batches, finish } = startGroup((command) => command.startsWith('a'))
  const answers = [send('b1')]
  // These are more than one batch of a channel that turns out to be locked.
  const commands = upTo(100).map((n) => `a${n}`)
  answers.push(...commands.map(send))
  await finish(0)
  expect(batches()[1]).toEqual(commands.slice(0, 64))
  await finish(1)
  answers.push(send('a-late'))
  for (const index of [2, 3, 4]) await finish(index)
  expect(batches().slice(2).flat()).toEqual([...commands, 'a-late'])
  await Promise.all(answers)
})

test('a batch is bounded in bytes, and a larger command has a batch to itself', async () => {
  const { attempt, batch } = recorded({
    bytesOf: ({ length }) => length,
    batch: { commands: 64, bytes: 10 },
  })
  const commands = ['a', 'bbbbb', 'ccccc', 'd', 'eeeeeeeeeeee', 'f']
  const answers = commands.map((command) => attempt(channel, command, later()))
  const batches = [['a'], ['bbbbb', 'ccccc'], ['d'], ['eeeeeeeeeeee'], ['f']]
  for (const [index, expected] of batches.entries()) {
    const running = await batch(index)
    expect(running.commands).toEqual(expected)
    running.settle()
  }
  await Promise.all(answers)
})

test('commands beyond the room to wait are refused; one channel has half of it', async () => {
  const onRefused = vi.fn()
  const { attempt, batch } = recorded({ waiting: { commands: 6, bytes: 1_000 }, onRefused })
  const send = (resource: string) => attempt({ group: 'app', resource }, resource, later())
  const full = { code: 'UNAVAILABLE', retryAfterSeconds: 1 }
  const answers = ['a', 'a', 'a'].map(send)
  await expect(send('a')).rejects.toMatchObject(full)
  answers.push(...['b', 'b', 'c'].map(send))
  await expect(send('d')).rejects.toMatchObject(full)
  expect(onRefused).toHaveBeenCalledTimes(2)
  // Another group has room of its own, and answered commands free theirs.
  answers.push(attempt({ group: 'other', resource: 'e' }, 'e', later()))
  for (const index of [0, 1, 2]) (await batch(index)).settle()
  await Promise.all(answers)
  const again = send('a')
  ;(await batch(3)).settle()
  expect(await again).toBe('a done')
})

test('the bytes that wait are bounded as well', async () => {
  const { attempt, batch } = recorded({
    bytesOf: ({ length }) => length,
    waiting: { commands: 64, bytes: 10 },
  })
  const first = attempt(channel, 'aaaaaa', later())
  await expect(attempt(channel, 'b', later())).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  ;(await batch(0)).settle()
  await first
})

test('waiting commands share the next batches in order, up to their largest size', async () => {
  const { attempt, batch } = recorded({ batch: { commands: 2, bytes: 1_000 } })
  const answers = ['a', 'b', 'c', 'd'].map((command) => attempt(channel, command, later()))
  for (const [index, commands] of [['a'], ['b', 'c'], ['d']].entries()) {
    const running = await batch(index)
    expect(running.commands).toEqual(commands)
    running.settle()
  }
  expect(await Promise.all(answers)).toEqual(['a done', 'b done', 'c done', 'd done'])
})

test('a busy channel delays no other, and runs commands again once it is idle', async () => {
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

test('a command with hardly any time left is refused, and fails no other', async () => {
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

test('when a batch fails every caller is refused, and the next batch runs', async () => {
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

test('finished commands free their room, even in a group that is never idle', () => {
  const { enter } = createWaitingRoom({ commands: 10, bytes: 100 }, () => {})
  const of = (resource: string) => ({ group: 'app', resource })
  enter(of('always'), 1)
  for (const round of upTo(5)) {
    const leave = enter(of(`${round}`), 60)
    enter(of(`beside ${round}`), 1)()
    leave()
  }
  enter(of('large'), 99)
  expect(() => enter(of('one more'), 1)).toThrow('Too many calls are waiting')
})

test('finished commands free their room, even in a channel that is never idle', () => {
  const { enter } = createWaitingRoom({ commands: 10, bytes: 100 }, () => {})
  const talk = { group: 'app', resource: 'talk' }
  enter(talk, 1)
  for (const _ of upTo(5)) expect(() => enter(talk, 40)()).not.toThrow()
})
