import type { ServerResponse } from 'node:http'
import { convertFile } from '@parley/server/commands/convert/index'
import { streamExport } from '@parley/server/commands/convert/stream'
import { expect, test } from 'vitest'
import { useHooks } from './hooks/fixture.ts'
import { channel, member, message, post, user } from './imports/records.ts'
import { forbidden, refusal } from './support/refusal.ts'

const { current, newScene } = useHooks()

/** Metadata that no request may have, as JSON. */
const unsafe = [
  '{"__proto__": {"admin": true}}',
  '{"a": [{"__proto__": 1}]}',
  '{"\\u005f_pr\\u006Fto__": {"admin": true}}',
  '{"constructor": {"prototype": {"admin": true}}}',
  '{"\\u0063onstructor": {"prototype": 1}}',
]
/** Metadata that is allowed, and only looks like the one above. */
const safe = ['{"a": "__proto__"}', '{"constructor": "Ford"}', '{"a": "\\u005f_proto__"}']

test('converting an export leaves out what its import would refuse, and counts it', async () => {
  const item = { id: 'ana', created_at: '2024-05-01T09:30:00Z', plan: 'here', since: 7 }
  const line = (custom: string) => JSON.stringify({ type: 'user', item }).replace('"here"', custom)
  async function* open() {
    yield Buffer.from(unsafe.map((custom) => line(custom)).join('\n'))
    yield Buffer.from(`{"__proto__":1,"type":"user","item":{"id":"ben"}}\n${line(safe[1] ?? '')}`)
  }
  const printed: string[] = []
  const problems = await convertFile(streamExport, { open, print: (one) => void printed.push(one) })
  expect(Object.fromEntries(problems)).toEqual({
    'left out: the keys __proto__ and constructor.prototype': unsafe.length + 1,
  })
  expect(printed.map((one) => JSON.parse(one))).toMatchObject([
    { record: 'user', id: 'ana', custom: { plan: {}, since: 7 } },
    { record: 'user', id: 'ben' },
  ])
  expect(printed.join()).not.toMatch(/__proto__|prototype/)
})

test('keys refused in custom data of requests are refused in an import, too', async () => {
  const { world } = current()
  const { id, apiKey } = await world.operator.apps.create({ name: 'Moving in' })
  const backend = world.api({ apiKey })
  const line = (record: object, custom: string) =>
    JSON.stringify({ ...record, custom: 'here' }).replace('"here"', custom)
  const lines = [
    ...unsafe.map((custom, n) => line(user(`bad${n}`), custom)),
    JSON.stringify(user('ana')),
    ...unsafe.map((custom, n) => line(channel(`bad${n}`), custom)),
    JSON.stringify(channel('room')),
    ...unsafe.map((custom) => line(member('room', 'ana'), custom)),
    JSON.stringify(member('room', 'ana')),
    ...unsafe.map((custom, n) => line(message(`bad${n}`, 'room'), custom)),
    ...safe.map((custom, n) => line(message(`good${n}`, 'room'), custom)),
    line(user('deep'), `${'{"__proto__":'.repeat(10_000)}1${'}'.repeat(10_000)}`),
    // It is whole, so the file is not cut off.
    line(user('last'), unsafe[0] ?? ''),
  ]
  const { status, body } = await post({ url: world.url, apiKey }, lines.join('\n'))
  expect(status).toBe(200)
  expect(body).toMatchObject({
    isFinished: true,
    imported: { users: 1, channels: 1, members: 1, messages: safe.length },
    refused: 4 * unsafe.length + 2,
  })
  const reasons = new Set(body.refusals.map(({ reason }: { reason: string }) => reason))
  expect([...reasons]).toEqual([expect.stringContaining('__proto__ and constructor.prototype')])
  const { channels } = await backend.channels.list({})
  const { messages } = await backend.messages.list({ channelId: channels[0]?.id ?? id })
  expect(messages.map(({ custom }) => custom)).toEqual(safe.map((custom) => JSON.parse(custom)))
})

test('keys refused in custom data of requests cannot come from a before-send hook', async () => {
  const { send, stored } = await newScene()
  for (const custom of unsafe) {
    current().receiver.answerWith((response: ServerResponse) =>
      response.writeHead(200).end(`{"action": "change", "custom": ${custom}}`),
    )
    expect(await refusal(send('Hello'))).toEqual(forbidden)
  }
  expect(await stored()).toEqual([])
})
