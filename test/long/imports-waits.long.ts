import { once } from 'node:events'
import { request } from 'node:http'
import { createChatServer } from '@parley/client/server'
import { test } from 'vitest'
import { importInto, user } from '../imports/records.ts'
import { createWorld } from '../support/world.ts'

// They wait for real limits, and so do it at the same time.

test.concurrent('an import that stops sending lines ends, and the next may start', async ({
  expect,
}) => {
  const world = await createWorld()
  try {
    const stalled = request(`${world.url}/import`, {
      method: 'POST',
      headers: { 'x-api-key': world.apiKey, 'content-type': 'application/x-ndjson' },
    })
    stalled.write(`${JSON.stringify(user('first'))}\n{"record":`)
    const [response] = await once(stalled, 'response')
    expect(response.statusCode).toBe(400)
    const chunks = await response.toArray()
    expect(Buffer.concat(chunks).toString()).toContain('no line came for 20 seconds')
    stalled.destroy()
    const next = await importInto(world, [user('first'), user('second')])
    expect(next).toMatchObject({ imported: { users: 1 }, skipped: { users: 1 } })
  } finally {
    await world.stop()
  }
})

test.concurrent('an import may take longer than other requests', async ({ expect }) => {
  const world = await createWorld()
  try {
    async function* slow() {
      for (let n = 0; n < 14; n++) {
        yield `${JSON.stringify(user(`slow${n}`))}\n`
        await new Promise((resolve) => setTimeout(resolve, 5_000))
      }
    }
    const report = await createChatServer(world).imports.run(slow())
    expect(report).toMatchObject({ isFinished: true, imported: { users: 14 } })
  } finally {
    await world.stop()
  }
})
