import { createEachRunner } from '@parley/server/http/each-runner'
import { createLine } from '@parley/server/http/line'
import { expect, test } from 'vitest'
import { recorded } from './support/group-commit.ts'

const later = () => performance.now() + 60_000
const lost = Object.assign(new Error('closed'), { code: 'CONNECTION_CLOSED' })
/** The result, or what it was refused with. */
const outcomeOf = (answer: Promise<string>) => answer.catch((error: Error) => error.message)

/** A group commit, and a way to send commands of one channel in a line. */
function withLine(options: Parameters<typeof recorded>[0] = {}) {
  const line = createLine()
  const { attempt, batches, batch } = recorded(options)
  const keys = { group: 'app', resource: 'channel' }
  return {
    batches,
    batch,
    alone: (command: string) => outcomeOf(attempt(keys, command, later())),
    send: (command: string) => outcomeOf(attempt({ ...keys, line }, command, later())),
  }
}

test('behind a command whose connection was lost none of its line is carried out', async () => {
  const { send, alone, batches, batch } = withLine()
  const answers = [send('1'), send('2'), alone('other'), send('3')]
  await batch(0).then((first) => first?.settle(lost))
  await batch(1).then((second) => second?.settle())
  answers.push(send('4'))
  const outcomes = ['closed', 'closed', 'other done', 'closed', 'closed']
  expect(await Promise.all(answers)).toEqual(outcomes)
  expect(batches.map(({ commands }) => commands)).toEqual([['1'], ['other']])
})

test('a command that fails by itself stops none of its line', async () => {
  const { send, batch } = withLine()
  const answers = [send('1'), send('2')]
  await batch(0).then((first) => first?.settle(new Error('poison')))
  await batch(1).then((second) => second?.settle())
  expect(await Promise.all(answers)).toEqual(['poison', '2 done'])
})

test('where a command finds no room, those behind it in its line find none', async () => {
  const { send, alone, batch, batches } = withLine({ waiting: { commands: 2, bytes: 10 } })
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

test('behind a command that could not be prepared none of its call is carried out', async () => {
  const carriedOut: string[] = []
  const prepare = async (_: unknown, input: string) => {
    if (input === '2') throw lost
    return { input }
  }
  const each = {
    part: { prepare },
    check: async () => {},
    inputsOf: (texts: string[]) => texts,
    outputOf: (outcomes: object[]) => outcomes.map((each) => 'error' in each),
  }
  const run = createEachRunner(each as never, {
    use: (_, work) => work({} as never),
    inTransaction: () => Promise.reject(new Error('nothing is written')),
    services: {} as never,
    attempt: async ({ input }) => void carriedOut.push(input),
  })
  const ignore = () => {}
  const call = { takeAnother: async () => undefined, logFault: ignore, noteRefusal: ignore }
  const texts = Array.from({ length: 30 }, (_, index) => `${index + 1}`)
  const areRefused = await run({ ...call, caller: {}, input: texts } as never)
  expect(carriedOut).toEqual(['1'])
  expect(areRefused).toEqual(texts.map((text) => text !== '1'))
})
