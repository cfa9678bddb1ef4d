import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { createChatServer, type ImportRecord } from '@parley/client/server'
import { expect, test } from 'vitest'
import { whileRowLocked } from '../support/locks.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { channel, importInto, user } from './records.ts'

const world = useWorld({ heartbeatMs: 20 })

const records: ImportRecord[] = [
  user('sam'),
  user('tom'),
  channel('both', { type: 'messaging', name: undefined, memberIds: ['sam', 'tom'] }),
]

/** Runs `work` while the import of a new app waits with its last step, after its last line. */
async function whileStuck<T>(work: (app: { id: string; apiKey: string }) => Promise<T>) {
  const app = await world().operator.apps.create({ name: 'Large' })
  await importInto({ url: world().url, apiKey: app.apiKey }, records.slice(0, 2))
  return whileRowLocked(
    world(),
    (sql) => sql`
      insert into channels (id, app_id, cid, type, created_by, dm_key)
      values (${randomUUID()}, ${app.id}, 'messaging:both', 'messaging', 'sam', 'sam tom')`,
    () => work(app),
  )
}

/** Sends the records, and waits for the beginning of the answer, however long it takes. */
async function beginning(apiKey: string) {
  const sending = request(`${world().url}/import`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/x-ndjson' },
  })
  sending.end(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  const [answer]: IncomingMessage[] = await once(sending, 'response')
  if (!answer) throw new Error('there is an answer')
  return answer
}

test('an import that takes long after its last line begins to answer meanwhile', async () => {
  const parts: string[] = []
  const answer = await whileStuck(async ({ apiKey }) => {
    const answer = await beginning(apiKey)
    answer.on('data', (part) => parts.push(String(part)))
    await until(() => parts.length > 1)
    expect(parts.join('').trim()).toBe('')
    return answer
  })
  expect(answer).toMatchObject({
    statusCode: 200,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-accel-buffering': 'no',
    },
  })
  await finished(answer)
  expect(JSON.parse(parts.join(''))).toMatchObject({
    isFinished: true,
    refusals: [{ line: 3, reason: 'memberIds: the two have a direct message already' }],
  })
})

test('a client resolves to the report of an import that began to answer before it', async () => {
  const running = await whileStuck(async ({ apiKey }) => {
    let begun = () => {}
    const begins = new Promise<void>((resolve) => {
      begun = resolve
    })
    const { url } = world()
    const observed: typeof fetch = async (...request) => {
      const response = await fetch(...request)
      begun()
      return response
    }
    const running = createChatServer({ url, apiKey, fetch: observed }).imports.run(records)
    await begins
    return { running }
  })
  expect(await running.running).toMatchObject({ isFinished: true, refused: 1 })
})

test('an import that fails after it began to answer is cut off, and can be repeated', async () => {
  const { failed, apiKey, id } = await whileStuck(async ({ id, apiKey }) => {
    const answer = await beginning(apiKey)
    await world().operator.apps.update({ appId: id, enabled: false })
    return { failed: text(answer).catch(() => 'cut off'), apiKey, id }
  })
  expect(await failed).toBe('cut off')
  await world().operator.apps.update({ appId: id, enabled: true })
  const again = await importInto({ url: world().url, apiKey }, records)
  expect(again).toMatchObject({ isFinished: true, skipped: { users: 2 } })
})
