import { rmSync } from 'node:fs'
import { createApi } from '@parley/client/api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDataFolder } from './support/folders.ts'
import { production, start } from './support/start.ts'
import { until } from './support/until.ts'
import { useWorld } from './support/world.ts'

const directory = createDataFolder('log-volume')
const world = useWorld()
let node: ReturnType<typeof start>
let url = ''
let apiKey = ''

beforeAll(async () => {
  const limits = { RATE_LIMIT_MESSAGES: '0', RATE_LIMIT_APP_REQUESTS: '0' }
  // The share of requests that is logged is the default.
  node = start({ ...production, ...limits, DATABASE_URL: world().databaseUrl }, directory)
  url = await node.address()
  const { apps } = createApi({ url, adminKey: production.ADMIN_API_KEY })
  apiKey = (await apps.create({ name: 'Logged' })).apiKey
})
afterAll(() => {
  node?.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

const SENDS = 800
const AT_ONCE = 16
/** The bytes that a send may add on average. */
const BYTES = 100

/** The lines of sends by a user, in bytes; slow ones are always logged, which is no share. */
const linesOf = (userId: string) =>
  node
    .output()
    .split('\n')
    .filter((line) => line.includes('"messages.send"'))
    .filter((line) => JSON.parse(line).user === userId && JSON.parse(line).ms < 1_000)
    .map((line) => Buffer.byteLength(line) + 1)

test.each([
  ['a UUID', crypto.randomUUID()],
  ['255 quotation marks', '"'.repeat(255)],
])(
  'by default a send adds 100 bytes to the log on average, its user being %s',
  async (_, userId) => {
    const { token } = await createApi({ url, apiKey }).tokens.create({ userId })
    const user = createApi({ url, token })
    const { id: channelId } = await user.channels.create({ type: 'group', name: 'Logged' })
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, sender) => {
        for (let n = sender; n < SENDS; n += AT_ONCE)
          await user.messages.send({ channelId, text: 'x' })
      }),
    )
    // A refused request is always logged: all lines before it are there.
    const end = crypto.randomUUID()
    await fetch(`${url}/api/channels`, { headers: { 'x-request-id': end } })
    await until(() => node.output().includes(end))
    const lines = linesOf(userId)
    const longest = Math.max(...lines)
    // Logged lines are drawn at random: four standard deviations are allowed.
    const share = BYTES / longest
    const chance = 1 + 4 * Math.sqrt((1 - share) / share / SENDS)
    const total = lines.reduce((sum, bytes) => sum + bytes, 0)
    expect(total / SENDS).toBeLessThan(BYTES * chance)
    expect(total / SENDS).toBeGreaterThan(BYTES / chance / 1.2)
  },
)
