import { expect, test } from 'vitest'
import { texts } from '../support/chat.ts'
import { quiet, scriptedChat } from '../support/scripted/index.ts'
import { stoppedClock } from '../support/scripted/time.ts'

/** Messages that the server refuses for the moment, again and again, while it accepts others. */

const SENDS = /^POST .*\/messages(\/batch)?$/
const LATER = { error: { code: 'UNAVAILABLE', message: 'not now' } }
const later = () => Response.json(LATER, { status: 503 })
const isPoisoned = (body: object | string) => JSON.stringify(body).includes('poison')

async function live() {
  const clock = stoppedClock()
  const scene = scriptedChat()
  const [talk, other] = ['c', 'd'].map((id) => scene.channel(id))
  if (!talk || !other) throw new Error('there are two channels')
  await scene.chat.connect()
  const passSeconds = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) await clock.forward(1_000)
  }
  const room = scene.chat.channel('c')
  return { ...scene, clock, room, talk, other, passSeconds }
}

test.each([
  ['as a whole', later],
  ['each by itself', () => Response.json({ results: [LATER, LATER, LATER] })],
])(
  'of messages that are refused %s, the one to blame fails and the others are sent',
  async (...given) => {
    const [, batch] = given
    const { room, talk, intercept, refuseRequests, requests, passSeconds } = await live()
    const refuse = (body: object) => ('messages' in body ? batch() : later())
    intercept(SENDS, (body) => (isPoisoned(body) ? refuse(body) : undefined))
    const poison = room.send({ text: 'poison' })
    poison.sent.catch(() => {})
    const next = [room.send({ text: 'next' }), room.send({ text: 'last' })]
    await passSeconds(15)
    expect(poison.message.status).toBe('pending')
    await passSeconds(150)
    expect(poison.message).toMatchObject({ status: 'failed', error: { status: 503 } })
    await Promise.all(next.map(({ sent }) => sent))
    expect(texts({ items: talk.messages })).toEqual(['next', 'last'])
    expect(requests.filter((request) => SENDS.test(request))).toHaveLength(12)
    refuseRequests()
    poison.retry()
    await poison.sent
    expect(texts({ items: talk.messages })).toEqual(['next', 'last', 'poison'])
  },
)

test('messages that the server refuses all together wait, and keep their order', async () => {
  const { chat, room, talk, intercept, refuseRequests, passSeconds } = await live()
  intercept(/\/c\/messages/, later)
  const all = ['one', 'two', 'three'].map((text) => room.send({ text }))
  await passSeconds(1)
  await chat.channel('d').send({ text: 'before' }).sent
  intercept(SENDS, later)
  await passSeconds(1_200)
  expect(all.map(({ message }) => message.status)).toEqual(['pending', 'pending', 'pending'])
  refuseRequests()
  await passSeconds(60)
  await Promise.all(all.map(({ sent }) => sent))
  expect(texts({ items: talk.messages })).toEqual(['one', 'two', 'three'])
})

test('a message behind one that was refused for long is sent at its next attempt', async () => {
  const { room, talk, intercept, passSeconds } = await live()
  intercept(SENDS, (body) => (isPoisoned(body) ? later() : undefined))
  const poison = room.send({ text: 'poison' })
  poison.sent.catch(() => {})
  await passSeconds(600)
  expect(poison.message.status).toBe('pending')
  const next = room.send({ text: 'next' })
  await passSeconds(31)
  expect(await next.sent).toMatchObject({ text: 'next' })
  expect(poison.message.status).toBe('failed')
  expect(texts({ items: talk.messages })).toEqual(['next'])
})

test('a message that is refused while those of another channel are sent fails', async () => {
  const { chat, room, intercept, passSeconds } = await live()
  intercept(SENDS, (body) => (isPoisoned(body) ? later() : undefined))
  const poison = room.send({ text: 'poison' })
  poison.sent.catch(() => {})
  for (let minute = 0; minute < 3; minute++) {
    for (let tenth = 0; tenth < 6; tenth++) {
      await chat.channel('d').send({ text: 'elsewhere' }).sent
      await passSeconds(10)
    }
  }
  expect(poison.message).toMatchObject({ status: 'failed', error: { status: 503 } })
})

test('channels that can be marked as read do not show that messages could be sent', async () => {
  const { chat, room, other, count, intercept, passSeconds } = await live()
  intercept(SENDS, later)
  const waits = room.send({ text: 'waits' })
  for (let minute = 0; minute < 10; minute++) {
    other.send('theirs')
    await chat.channel('d').markRead(other.messages.at(-1)?.id)
    await passSeconds(60)
  }
  expect(count(/\/d\/read$/)).toBeGreaterThan(5)
  expect(waits.message.status).toBe('pending')
})

test('what names a message that holds up its channel is not tried before it', async () => {
  const { room, intercept, passSeconds } = await live()
  const tried: string[] = []
  intercept(/^POST/, (body) => {
    tried.push(JSON.stringify(body))
    return isPoisoned(body) ? later() : undefined
  })
  const poison = room.send({ text: 'poison' })
  let early: string[] = []
  poison.sent.catch(() => {
    early = tried.filter((body) => !isPoisoned(body))
  })
  room.send({ text: 'reply', parentId: poison.clientId })
  const reaction = room.react(poison.clientId, '👍').catch(({ code }) => code)
  const next = room.send({ text: 'next' })
  await passSeconds(160)
  expect(await reaction).toBe('UNAVAILABLE')
  expect(early).toHaveLength(1)
  expect(early[0]).toContain(next.clientId)
  expect(next.message.status).toBe('sent')
})

test('a message that is refused while the connection is lost does not fail', async () => {
  const { room, cut, intercept, passSeconds, network } = await live()
  network.refusesTokens = true
  cut({ isCut: false })
  await quiet()
  intercept(SENDS, (body) => (isPoisoned(body) ? later() : undefined))
  const poison = room.send({ text: 'poison' })
  const next = room.send({ text: 'next' })
  await passSeconds(300)
  expect([poison, next].map(({ message }) => message.status)).toEqual(['pending', 'pending'])
})
