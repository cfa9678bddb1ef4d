import { CONTENDED } from '@parley/server/core/operation'
import { createGroupCommit } from '@parley/server/http/group-commit'
import { expect, onTestFinished, test, vi } from 'vitest'

test('a command whose time runs out while its batch is put together is still answered', async () => {
  const attempt = createGroupCommit<string, string>({
    run: async (commands) => commands.map((command) => `${command} done`),
    maxBatchSize: 64,
  })
  let now = 0
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now++)
  onTestFinished(() => clock.mockRestore())

  // At the first look at the clock there is just enough time left, at the second there is not.
  expect(await attempt({ group: 'app', resource: 'channel' }, 'send', 1_000)).toBe('send done')
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
    return attempt({ group: 'app', resource }, command, Date.now() + 60_000)
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

test('a command that makes its batch fail is refused alone', async () => {
  const attempt = createGroupCommit<string, string>({
    run: async (commands) => {
      await new Promise(setImmediate)
      if (commands.includes('bad')) throw new Error('a bad command')
      return commands
    },
    maxBatchSize: 64,
  })
  const keys = { group: 'app', resource: 'channel' }
  const outcomes = await Promise.allSettled(
    ['first', 'good', 'bad', 'better'].map((command) =>
      attempt(keys, command, Date.now() + 60_000),
    ),
  )
  expect(outcomes.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
})
