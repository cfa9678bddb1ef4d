import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, expect, test } from 'vitest'
import { createDataFolder } from '../support/folders.ts'
import { logLines } from '../support/log-lines.ts'
import { freePort } from '../support/ports.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { production, useChildren } from '../support/start.ts'
import { until } from '../support/until.ts'

const directory = createDataFolder('full-disk')
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const WANT_OF_ROOM = 'The database has no room to write'

/** A server with its database on this disk, and a channel in it. */
async function startOn(folder: string) {
  const metricsPort = await freePort()
  const node = children.start(
    {
      ...production,
      EMBEDDED_DATABASE: 'yes',
      DATA_DIR: folder,
      METRICS_PORT: String(metricsPort),
      RATE_LIMIT_MESSAGES: '0',
      RATE_LIMIT_APP_REQUESTS: '0',
    },
    directory,
  )
  const url = await node.address()
  const { apiKey } = await createApi({ url, adminKey: production.ADMIN_API_KEY }).apps.create({
    name: 'Full',
  })
  const { token } = await createApi({ url, apiKey }).tokens.create({ userId: 'ana' })
  const ana = createApi({ url, token })
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Full' })
  const acknowledged: string[] = []
  /** Sends a message that no compression makes smaller; answers what the caller sees. */
  const send = async () => {
    const response = await fetch(`${url}/api/channels/${channelId}/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ text: randomBytes(2_000).toString('hex') }),
    })
    const answer = (await response.json()) as { id?: string; error?: { message: string } }
    if (answer.id !== undefined) acknowledged.push(answer.id)
    const retryAfter = response.headers.get('retry-after')
    return { status: response.status, retryAfter, message: answer.error?.message }
  }
  const stored = async () => {
    const ids: string[] = []
    for (let before: string | undefined; ; before = ids[0]) {
      const page = await ana.messages.list({ channelId, limit: 100, ...(before && { before }) })
      ids.unshift(...page.messages.map(({ id }) => id))
      if (!page.hasMore) return ids
    }
  }
  const checks = async () => {
    const response = await fetch(`${url}/health`)
    const { checks } = (await response.json()) as { checks: object }
    return { status: response.status, ...checks }
  }
  const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return { node, send, stored, acknowledged, checks, metrics, lines: () => logLines(node) }
}

test('a disk that is full refuses writes, serves reads, and loses nothing', async ({ skip }) => {
  const disk = mountSmallDisk(200)
  if (!disk) return skip('only root on Linux, where it may mount, has a disk that can be filled')
  const { send, stored, acknowledged, checks, metrics, lines, node } = await startOn(disk.folder)
  expect(await send()).toMatchObject({ status: 201 })
  disk.fill()
  for (let refused = 0; refused < 20; ) {
    const answer = await send()
    if (answer.status === 201) continue
    expect(answer).toEqual({ status: 503, retryAfter: '1', message: WANT_OF_ROOM })
    refused++
  }
  expect(await checks()).toEqual({ status: 200, database: 'ok', disk: 'full' })
  expect(await stored()).toEqual(acknowledged)
  expect(await metrics()).toMatch(
    /^parley_operation_seconds_count\{operation="messages.send",outcome="UNAVAILABLE"\} 20$/m,
  )
  disk.makeRoom()
  expect(await send()).toMatchObject({ status: 201 })
  expect(await stored()).toEqual(acknowledged)
  const said = lines().map(({ msg }) => msg)
  expect(said.filter((msg) => msg.startsWith('database '))).toEqual(['database disk full'])
  expect(said).not.toContain('request failed')
  node.kill('SIGTERM')
  expect(await node.code).toBe(0)
})

/** Less than a segment of PostgreSQL's write-ahead log, without which it ends. */
const LITTLE_ROOM_MB = 10

test('a database that ends on a full disk returns once there is room', async ({ skip }) => {
  const disk = mountSmallDisk(200)
  if (!disk) return skip('only root on Linux, where it may mount, has a disk that can be filled')
  const { send, stored, acknowledged, checks, node } = await startOn(disk.folder)
  disk.fill({ leaveMegabytes: LITTLE_ROOM_MB })
  const noRoom = 'The embedded PostgreSQL has no room on its disk: trying again until it has'
  while (!node.output().includes(noRoom)) {
    const { status, retryAfter } = await send()
    if (status !== 201) expect([status, retryAfter]).toEqual([503, '1'])
  }
  expect(await checks()).toMatchObject({ status: 503 })
  disk.makeRoom()
  await until(async () => (await send()).status === 201)
  expect(await stored()).toEqual(expect.arrayContaining(acknowledged))
  expect(await checks()).toMatchObject({ status: 200, database: 'ok' })
  expect(node.output().split(noRoom)).toHaveLength(2)
  node.kill('SIGTERM')
  expect(await node.code).toBe(0)
})
