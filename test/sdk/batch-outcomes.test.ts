import type { ChatClient } from '@parley/client'
import { expect, test } from 'vitest'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** Broken servers, or those of other versions, answer to messages that are sent together. */

const BATCH = /^POST .*\/messages\/batch$/

/** Does it without a connection. */
async function offline<Result>(chat: ChatClient, act: () => Result) {
  chat.disconnect()
  const result = act()
  await quiet()
  return result
}

test.each([0, -5, 1e12, 1e300, 'soon', null])(
  'a Retry-After of %j in a batch is a pause that grows, of five minutes at most',
  async (retryAfterSeconds) => {
    const { chat, channel, intercept, refuseRequests, count } = scriptedChat()
    channel('c')
    await chat.connect()
    const clock = stoppedClock()
    const error = { code: 'RATE_LIMITED', message: 'too many', retryAfterSeconds }
    intercept(BATCH, () => Response.json({ results: [{ error }, { error }] }))
    const [one, two] = await offline(chat, () =>
      ['1', '2'].map((text) => chat.channel('c').send({ text })),
    )
    void chat.connect()
    for (let second = 0; second < 60; second++) await clock.forward(1_000)
    expect(count(BATCH)).toBeGreaterThan(0)
    expect(count(BATCH)).toBeLessThanOrEqual(10)
    refuseRequests()
    await clock.forward(360_000)
    expect(await Promise.all([one?.sent, two?.sent])).toHaveLength(2)
  },
)

test('a message of a batch with an error of a newer server is refused with its words', async () => {
  const { chat, channel, intercept } = scriptedChat()
  channel('c')
  await chat.connect()
  const error = { code: 'CHANNEL_ARCHIVED', message: 'The channel is archived' }
  intercept(BATCH, () => Response.json({ results: [{ error }, { error }] }))
  const sent = await offline(chat, () =>
    ['1', '2'].map((text) =>
      chat
        .channel('c')
        .send({ text })
        .sent.catch((failure) => failure),
    ),
  )
  await chat.connect()
  const refusal = { ...error, status: 0, retryable: false }
  expect(await Promise.all(sent)).toMatchObject([refusal, refusal])
})
