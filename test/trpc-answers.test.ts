import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createTalk } from './support/large-answers.ts'
import { until } from './support/until.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()
let ana: User
beforeAll(async () => {
  ana = await world().user('ana')
})

test('a conflict has its status and code over tRPC, too', async () => {
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Edits' })
  const { id: messageId } = await ana.messages.send({ channelId, text: 'as sent' })
  await ana.messages.edit({ channelId, messageId, text: 'edited' })
  const response = await fetch(`${world().url}/trpc/messages.edit`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ana.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ channelId, messageId, text: 'late', ifEditedAt: null }),
  })
  expect(response.status).toBe(409)
  // The number is that of JSON-RPC, which tRPC has for conflicts.
  const error = { code: -32_009, data: { code: 'CONFLICT', httpStatus: 409 } }
  expect(await response.json()).toMatchObject({ error })
})

test('an empty list of user ids is answered with no users', async () => {
  const ids = encodeURIComponent(JSON.stringify({ ids: [] }))
  const response = await fetch(`${world().url}/trpc/users.list?input=${ids}`, {
    headers: { authorization: `Bearer ${ana.token}` },
  })
  expect(await response.json()).toMatchObject({ result: { data: { users: [] } } })
})

/** A batch that reads a talk this many times. */
function readingPath(channelId: string, times: number) {
  const calls = Array.from({ length: times }, () => ({ channelId }))
  const names = calls.map(() => 'messages.list').join()
  return `/trpc/${names}?batch=1&input=${encodeURIComponent(JSON.stringify({ ...calls }))}`
}

test('the answers of a tRPC batch are not parsed and serialised a second time', async () => {
  const talk = await createTalk(world(), ana, 20)
  const [parsed, written] = [vi.spyOn(JSON, 'parse'), vi.spyOn(JSON, 'stringify')]
  onTestFinished(() => void vi.restoreAllMocks())
  const body = await (
    await fetch(`${world().url}${readingPath(talk.channelId, 2)}`, {
      headers: { authorization: `Bearer ${ana.token}` },
    })
  ).text()
  const largest = (texts: unknown[]) => Math.max(...texts.map((text) => String(text).length))
  // Each answer has twenty messages of 20,000 characters.
  expect(largest(parsed.mock.calls.map(([text]) => text))).toBeLessThan(100_000)
  expect(largest(written.mock.results.map(({ value }) => value))).toBeLessThan(100_000)
  const answers: { result: { data: { messages: object[] } } }[] = JSON.parse(body)
  expect(answers.map(({ result }) => result.data.messages.length)).toEqual([21, 21])
})

test.each([
  ['as it is', ''],
  ['as lines', 'trpc-accept: application/jsonl\r\n'],
  ['in an unknown form', 'trpc-accept: x\r\n'],
])('a tRPC batch %s is given whole to a client that does not read', async (_, accept) => {
  const talk = await createTalk(world(), ana, 26)
  const responses: ServerResponse[] = []
  const note = (_: unknown, response: ServerResponse) => void responses.push(response)
  world().app.server.on('request', note)
  const { hostname, port } = new URL(world().url)
  const socket = connect(Number(port), hostname).pause()
  onTestFinished(() => {
    world().app.server.off('request', note)
    socket.destroy()
  })
  const head = `Host: parley\r\nAuthorization: Bearer ${ana.token}\r\n${accept}\r\n`
  // The buffers of the system have room for some.
  socket.write(`GET ${readingPath(talk.channelId, 6)} HTTP/1.1\r\n${head}`.repeat(8))
  // Unread answers are counted, and cut, by the bytes of those that were given.
  await until(() =>
    responses.some(
      ({ socket, writableEnded }) => writableEnded && Number(socket?.writableLength) > 1_000_000,
    ),
  )
})
