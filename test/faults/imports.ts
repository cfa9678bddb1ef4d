import { setTimeout as delay } from 'node:timers/promises'
import { createChatServer, type ImportRecord } from '@parley/client/server'
import { idOf } from '@parley/server/features/imports/records'
import type { Rig } from './rig.ts'

const CHANNELS = 4
const USERS = 6
const MESSAGES = 3_000
/** How long an import that was killed keeps others out, and the import itself, with room. */
const GIVEN_UP_MS = 240_000
const AGAIN_MS = 1_000

/**
 * The node that imports dies in the middle, while it reads or while it numbers. The import is run
 * again, at any node, until one is finished, and once more after that.
 */
export async function killAtImport(rig: Rig) {
  const { random, history, apiKey } = rig
  const name = `import-${history.imports.length}`
  const { records, channels } = historyOf(rig, name)
  const node = random.pick(rig.nodes)
  const isReading = random.fraction() < 0.5
  const isAt = isReading ? random.between(0, records.length - 1) : records.length
  let reached = () => {}
  const isDue = new Promise<void>((resolve) => (reached = resolve))
  const first = createChatServer({ url: node.url, apiKey })
    .imports.run(untilReached(records, isAt, reached))
    .catch(() => undefined)
  await isDue
  if (!isReading) await delay(random.between(0, 600))
  await rig.fault(
    { name: 'kill -9 amid an import', node: node.index, breaksAnswers: true },
    async () => {
      await node.process.end('SIGKILL')
      await node.start()
    },
  )
  await first
  const began = rig.now()
  for (let attempts = 2; rig.now() - began < GIVEN_UP_MS; attempts++) {
    const server = createChatServer({ url: random.pick(rig.nodes).url, apiKey })
    // While the import that was killed has its lease, others are refused.
    const report = await server.imports.run(records).catch(() => undefined)
    if (!report?.isFinished) {
      await delay(AGAIN_MS)
      continue
    }
    const again = await server.imports.run(records)
    const { refused } = report
    const importedAgain = again.imported.messages
    history.imports.push({ channels, attempts, refused, importedAgain })
    return
  }
  history.refusals.push({ name: 'import', code: 'never finished' })
}

/** The records one by one, with a pause after some. */
async function* untilReached(records: ImportRecord[], at: number, reached: () => void) {
  for (const [index, record] of records.entries()) {
    if (index === at) reached()
    if (index % 100 === 0) await delay(30)
    yield record
  }
  reached()
}

/** The messages are not in the order of their times. */
const timeOf = (n: number) => 1 + ((n * 7_919) % MESSAGES)

/** Users, channels and messages, not in the order of their times, with all that belongs to them. */
function historyOf({ appId, random }: Rig, name: string) {
  const users = Array.from({ length: USERS }, (_, n) => `${name}-user-${n}`)
  const ids = Array.from({ length: CHANNELS }, (_, n) => `${name}-channel-${n}`)
  const at = (n: number) => new Date(Date.UTC(2024, 0, 1) + 1_000 * n).toISOString()
  const records: ImportRecord[] = [
    ...users.map((id) => ({ record: 'user', id }) as const),
    ...ids.map(
      (id) => ({ record: 'channel', id, type: 'group', name: id, createdAt: at(0) }) as const,
    ),
    ...ids.flatMap((channelId) =>
      users.map((userId) => ({ record: 'member', channelId, userId, joinedAt: at(0) }) as const),
    ),
  ]
  const sent: { channelId: string; time: number; text: string }[] = []
  for (let n = 0; n < MESSAGES; n++) {
    const place = n % CHANNELS
    const channelId = ids[place] ?? ''
    const time = timeOf(n)
    const parent = n - CHANNELS * random.between(1, 5)
    const isReply = parent >= 0 && timeOf(parent) < time && random.fraction() < 0.4
    const id = `${name}-message-${n}`
    const userId = random.pick(users)
    const text = `imported ${n}`
    sent.push({ channelId, time, text })
    records.push({
      record: 'message',
      ...{ id, channelId, userId, text, createdAt: at(time) },
      ...(isReply && { parentId: `${name}-message-${parent}` }),
    })
    const about = { messageId: id, userId: random.pick(users), createdAt: at(time + MESSAGES) }
    const choice = random.fraction()
    if (choice < 0.1) records.push({ record: 'reaction', emoji: '👍', ...about })
    if (choice > 0.99) records.push({ record: 'pin', ...about })
    if (choice > 0.5 && choice < 0.55) records.push({ record: 'read', channelId, ...about })
  }
  sent.sort((one, other) => one.time - other.time)
  return {
    records,
    channels: ids.map((id) => ({
      channelId: idOf(appId, 'channel', id),
      texts: sent.flatMap(({ channelId, text }) => (channelId === id ? [text] : [])),
    })),
  }
}
