import { CONTENDED, RequiresFirstError } from '@parley/server/core/operation'
import { createCommandSequence } from '@parley/server/http/command-sequence'
import { createEachRunner } from '@parley/server/http/each-runner'
import { createGroupCommit } from '@parley/server/http/group-commit'
import { expect, test } from 'vitest'
import { recorded, sizes } from './support/group-commit.ts'

const later = () => performance.now() + 60_000
const lost = Object.assign(new Error('closed'), { code: 'CONNECTION_CLOSED' })
/** The result, or the message of the refusal. */
const outcomeOf = (answer: Promise<string>) => answer.catch((error: Error) => error.message)

/** A group commit, and a way to send commands of one channel in a sequence. */
function withSequence(options: Parameters<typeof recorded>[0] = {}) {
  const sequence = createCommandSequence()
  const { attempt, batches, batch } = recorded(options)
  const keys = { group: 'app', resource: 'channel' }
  return {
    batches,
    batch,
    alone: (command: string) => outcomeOf(attempt(keys, command, later())),
    send: (command: string) => outcomeOf(attempt({ ...keys, sequence }, command, later())),
  }
}

test('after a command whose connection was lost, no other of its sequence is run', async () => {
  const { send, alone, batches, batch } = withSequence()
  const answers = [send('1'), send('2'), alone('other'), send('3')]
  await batch(0).then((first) => first?.settle(lost))
  await batch(1).then((second) => second?.settle())
  answers.push(send('4'))
  const outcomes = ['closed', 'closed', 'other done', 'closed', 'closed']
  expect(await Promise.all(answers)).toEqual(outcomes)
  expect(batches.map(({ commands }) => commands)).toEqual([['1'], ['other']])
})

test('after a batch that was lost with its connection, no later command is run', async () => {
  const { send, alone, batches, batch } = withSequence()
  const answers = [alone('first'), send('1'), send('2')]
  await batch(0).then((first) => first?.settle())
  await batch(1).then((second) => second?.settle(lost))
  expect(await Promise.all(answers)).toEqual(['first done', 'closed', 'closed'])
  expect(await send('3')).toBe('closed')
  expect(batches.map(({ commands }) => commands)).toEqual([['first'], ['1', '2']])
})

test('a command that fails by itself does not stop the others of its sequence', async () => {
  const { send, batch } = withSequence()
  const answers = [send('1'), send('2')]
  await batch(0).then((first) => first?.settle(new Error('poison')))
  await batch(1).then((second) => second?.settle())
  expect(await Promise.all(answers)).toEqual(['poison', '2 done'])
})

test('a command refused for lack of room makes the later ones of its sequence fail', async () => {
  const { send, alone, batch, batches } = withSequence({ waiting: { commands: 2, bytes: 10 } })
  const [first, second] = [alone('first'), send('1')]
  await batch(0).then((each) => each?.settle())
  expect(await first).toBe('first done')
  // There is room now.
  expect(await send('2')).toBe(await second)
  const other = alone('other')
  await batch(1).then((each) => each?.settle())
  expect(await other).toBe('other done')
  expect(batches.map(({ commands }) => commands)).toEqual([['first'], ['other']])
})

test('commands of a failed batch that are run alone stop behind one that is refused', async () => {
  const { send, alone, batches, batch } = withSequence()
  const answers = [send('first'), alone('poison'), send('1'), send('2')]
  await batch(0).then((each) => each?.settle())
  await batch(1).then((together) => together?.settle(new Error('poison')))
  await batch(2).then((poison) => poison?.settle(new Error('poison')))
  await batch(3).then((one) => one?.settle(lost))
  expect(await Promise.all(answers)).toEqual(['first done', 'poison', 'closed', 'closed'])
  expect(batches).toHaveLength(4)
})

test('commands of a failed batch wait behind one whose resource is locked', async () => {
  const done: string[] = []
  let isLocked = true
  const attempt = createGroupCommit<string, string>({
    ...sizes,
    run: async (commands, { waitsForLocks }) => {
      if (commands.includes('poison')) throw new Error('poison')
      if (!commands.includes('1') || waitsForLocks || !isLocked) {
        done.push(...commands)
        return commands
      }
      // Others let go of the lock just after that.
      isLocked = false
      return commands.map(() => CONTENDED)
    },
  })
  const send = (command: string, resource: string) =>
    outcomeOf(attempt({ group: 'app', resource }, command, later()))
  const answers = [send('first', 'other'), send('poison', 'other')]
  answers.push(send('1', 'channel'), send('2', 'channel'), send('3', 'third'))
  expect(await Promise.all(answers)).toEqual(['first', 'poison', '1', '2', '3'])
  expect(done).toEqual(['first', '3', '1', '2'])
})

const texts = Array.from({ length: 30 }, (_, index) => `${index + 1}`)

const ignore = (_: unknown) => {}

/** Carries out a call with all texts, in batches. Returns those stored and those refused. */
async function runAll({
  prepare = async (input: string) => ({ input }),
  attempt = async (run: () => Promise<unknown>) => run(),
  logFault = ignore,
  noteRefusal = ignore,
}) {
  const stored: string[] = []
  const commit = createGroupCommit<string, string>({
    ...sizes,
    run: async (commands) => {
      stored.push(...commands)
      return commands
    },
  })
  const each = {
    part: { prepare: (_: unknown, input: string) => prepare(input) },
    check: async () => {},
    inputsOf: () => texts,
    outputOf: (outcomes: object[]) => texts.filter((_, at) => 'error' in (outcomes[at] ?? {})),
  }
  const run = createEachRunner(each as never, {
    use: (_, work) => work({} as never, {} as never),
    inTransaction: () => Promise.reject(lost),
    services: {} as never,
    attempt: ({ input, sequence }) =>
      attempt(() => commit({ group: 'app', resource: 'channel', sequence }, input, later())),
  })
  const call = { takeAnother: async () => undefined, logFault, noteRefusal }
  const refused = await run({ ...call, caller: {}, input: {} } as never)
  return { stored, refused }
}

test('only commands before one that could not be prepared are carried out', async () => {
  const prepare = async (input: string) => {
    if (input === '3') throw lost
    return { input }
  }
  const [one = '', two = '', ...others] = texts
  expect(await runAll({ prepare })).toEqual({ stored: [one, two], refused: others })
})

test('a bug in one command is logged, and does not stop the others', async () => {
  const bug = new TypeError('bug')
  const prepare = async (input: string) => {
    if (input === '3') throw bug
    return { input }
  }
  const logged: unknown[] = []
  const noted: unknown[] = []
  const ofLog = {
    logFault: (error: unknown) => void logged.push(error),
    noteRefusal: (error: unknown) => void noted.push(error),
  }
  const { stored, refused } = await runAll({ prepare, ...ofLog })
  expect([stored.length, refused]).toEqual([texts.length - 1, ['3']])
  expect(logged).toEqual([bug])
  expect(noted).toMatchObject([{ code: 'INTERNAL_ERROR' }])
})

test('if the step that its first commands need fails, no command of a call is run', async () => {
  let steps = 0
  const attempt = async (run: () => Promise<unknown>) => {
    // A later one would succeed.
    if (steps > 0) return run()
    throw new RequiresFirstError(async ({ inTransaction }) => {
      steps += 1
      await inTransaction(async () => {})
    })
  }
  expect(await runAll({ attempt })).toEqual({ stored: [], refused: texts })
})
