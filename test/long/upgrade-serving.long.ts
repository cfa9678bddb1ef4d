import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createApi } from '@parley/client/api'
import type { WebhookEvents } from '@parley/client/server'
import { topics } from '@parley/contract'
import { connectOnce, openConnection } from '@parley/server/db/client'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { expectExactCounters } from '../imports/records.ts'
import { createDataFolder } from '../support/folders.ts'
import { openProxy } from '../support/proxy.ts'
import { centrifugeOf, listen, type TopicListener } from '../support/realtime.ts'
import { type Received, serveReceiver } from '../support/receiver.ts'
import { unpackRelease } from '../support/release-archive.ts'
import { createReleased, type Release, releases, releasesFolder } from '../support/releases.ts'
import { production, useChildren } from '../support/start.ts'
import { patient, unhurried, until } from '../support/until.ts'
import { startTraffic } from '../support/upgrade-traffic.ts'

const directory = createDataFolder('upgrade')
const children = useChildren()
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** More than are counted at each look: the migration stores how many they are. */
const FANS = 250
type Sql = ReturnType<typeof connectOnce>
type Node = ReturnType<typeof children.start>

/** Functions that start servers and commands of either version. */
function programsOf({ version }: Release, given: Record<string, string>) {
  const { bin, remove } = unpackRelease(join(releasesFolder, version, 'server.tar.gz'))
  onTestFinished(remove)
  const variables = {
    ...{ ...production, RATE_LIMIT_MESSAGES: '0', RATE_LIMIT_REQUESTS: '0' },
    ...{ LOG_SAMPLE: '1', ...given },
  }
  return {
    startOld: () => children.start(variables, directory, [bin, 'start']),
    startNew: (command = 'start') => children.start(variables, directory, command),
  }
}

/** A message with the reactions of many, as they are stored. */
async function addReactions(sql: Sql, { appId, messageId }: { appId: string; messageId: string }) {
  await sql`
    insert into users (app_id, id)
    select ${appId}, 'fan-' || n
    from generate_series(1, ${FANS}) n`
  await sql`
    insert into reactions (app_id, message_id, emoji, user_id)
    select ${appId}, ${messageId}, '👍', 'fan-' || n
    from generate_series(1, ${FANS}) n`
}

/** Runs `parley migrate`, which waits for a transaction while the work is done. */
async function migrateDuring(work: () => Promise<void>, { databaseUrl, startNew }: Migrating) {
  const holder = connectOnce(databaseUrl)
  onTestFinished(() => holder.end())
  let migrating: Node | undefined
  await holder.begin('isolation level repeatable read', async (held) => {
    await held`select count(*) from reactions`
    migrating = startNew('migrate')
    await work()
    expect(migrating.child.exitCode).toBeNull()
  })
  expect(await migrating?.code).toBe(0)
  return migrating?.output()
}
type Migrating = { databaseUrl: string; startNew: (command: string) => Node }

/** Whether a statement of the migration waits for another transaction. */
const isWaiting = async (sql: Sql) => {
  const waiting = await sql`
    select
    from pg_stat_activity
    where datname = current_database()
      and wait_event_type = 'Lock'
      and query ilike '%concurrently%'`
  return waiting.length > 0
}

/** Expects that a socket received every event stored since its first one, in order and once. */
async function expectAllReceived(listener: TopicListener, last: number) {
  const received = await listener.until((events) => events.some(({ offset }) => offset === last))
  const offsets = received.flatMap(({ offset }) => offset ?? [])
  expect(offsets).toEqual(offsets.map((_, index) => last - offsets.length + 1 + index))
  return received.filter(({ envelope }) => envelope.type === 'message.new').length
}

const served = releases.filter(({ isFenced }) => !isFenced)

test.each(served.map((release) => [release.version, release] as const))(
  'a server of %s is used while its database is upgraded, and beside a new server',
  async (_version, release) => {
    const { url: databaseUrl, sql } = await createReleased(release)
    const receiver = await serveReceiver()
    onTestFinished(async () => void (await receiver.stop()))
    const { startOld, startNew } = programsOf(release, {
      DATABASE_URL: databaseUrl,
      WEBHOOK_ALLOW_HOSTS: new URL(receiver.url).host,
    })
    const old = startOld()
    const urls = [await old.url()]
    const [oldUrl = ''] = urls
    const operator = createApi({ url: oldUrl, adminKey: production.ADMIN_API_KEY })
    expect(await operator.service.health({})).toMatchObject({ version: release.version })
    const { id: appId, apiKey } = await operator.apps.create({ name: 'Upgraded' })
    const backend = createApi({ url: oldUrl, apiKey })
    await backend.webhooks.create({ url: receiver.url, events: ['message.new'] })
    const userOf = async (id: string) => {
      const minted = await backend.tokens.create({ userId: id })
      const on = (url: string) => createApi({ url, token: minted.token })
      return { id, token: minted.token, minted, on }
    }
    const ids = ['ana', 'ben', 'cleo', 'dan', 'eva', 'fay']
    const [ana, ben, cleo, ...more] = await Promise.all(ids.map(userOf))
    if (!ana || !ben || !cleo) throw new Error('unreachable')
    const { id: channelId } = await ana
      .on(oldUrl)
      .channels.create({ type: 'group', name: 'Kitchen', memberIds: ids })
    const root = await ana.on(oldUrl).messages.send({ channelId, text: 'Soup?' })
    await addReactions(sql, { appId, messageId: root.id })

    const topic = topics.channel(appId, channelId)
    /** A socket of a user who only reads, on a server. */
    const listenOn = async (url: string) => {
      const client = centrifugeOf({ url }, cleo)
      onTestFinished(() => client.disconnect())
      return listen(client, topic)
    }
    const way = await openProxy(oldUrl)
    onTestFinished(() => way.close())
    const [fromOld, throughProxy] = await Promise.all([oldUrl, way.url].map(listenOn))
    if (!fromOld || !throughProxy) throw new Error('unreachable')
    const users = [ana, ben, ...more.slice(0, 1)]
    const traffic = startTraffic({ urls, users, channelId, reactedTo: root.id })
    await traffic.rounds(2)

    const migrated = await migrateDuring(
      async () => {
        await until(() => isWaiting(sql))
        await traffic.rounds(5)
      },
      { databaseUrl, startNew },
    )
    expect(migrated).toContain('The schema is up to date')
    await traffic.rounds(2)
    const fresh = startNew()
    const newUrl = await fresh.url()
    const before = traffic.sent.size
    const fromNew = await listenOn(newUrl)
    urls.push(newUrl)
    await traffic.rounds(8)
    // Either one does the jobs of both: it erases users, and sends webhooks.
    const [eva, fay] = more.slice(1)
    await eva?.on(oldUrl).users.delete({ userId: 'eva' })
    await fay?.on(newUrl).users.delete({ userId: 'fay' })
    const count = async () => (await ana.on(newUrl).channels.get({ channelId })).memberCount
    await until(async () => (await count()) === ids.length - 2)
    const again = startOld()
    expect(await again.code).not.toBe(0)
    expect(again.output()).toContain('its schema is newer than this version of Parley')
    await traffic.stop()

    expect(traffic.failures).toEqual([])
    const stored = await sql<{ id: string; userId: string; text: string | null }[]>`
      select
        msg.id,
        msg.user_id as "userId",
        case when msg.deleted_at is null then msg.text end as text
      from messages msg
      where msg.channel_id = ${channelId}
        and msg.id <> ${root.id}
      order by msg.seq`
    const texts = Object.fromEntries(stored.map(({ id, ...message }) => [id, message]))
    expect(texts).toEqual(Object.fromEntries(traffic.sent))
    // The messages of each user are in the order in which they were sent.
    const orderOf = (all: string[]) =>
      users.map(({ id }) => all.filter((each) => traffic.sent.get(each)?.userId === id))
    expect(orderOf(stored.map(({ id }) => id))).toEqual(orderOf([...traffic.sent.keys()]))
    const unread = stored.filter(({ text }) => text !== null).length + 1
    for (const url of urls) {
      const { channels } = await cleo.on(url).channels.list({})
      expect(channels).toMatchObject([{ id: channelId, unreadCount: unread }])
      const { reactions } = await cleo.on(url).messages.get({ channelId, messageId: root.id })
      const own = { type: '👍', count: FANS + traffic.reacting.size, own: false }
      expect(reactions).toEqual([expect.objectContaining(own)])
    }
    const db = openConnection({
      ...{ url: databaseUrl, applicationName: 'parley-test-direct', max: 1 },
      ...{ statementMs: unhurried.statementMs, idleInTransactionMs: unhurried.idleInTransactionMs },
    })
    onTestFinished(() => db.end())
    await expectExactCounters({ db, appId })

    const [channel] = await sql<{ rev: number }[]>`
      select c.rev
      from channels c
      where c.id = ${channelId}`
    const rev = channel?.rev ?? 0
    expect(await expectAllReceived(fromOld, rev)).toBe(traffic.sent.size)
    expect(await expectAllReceived(fromNew, rev)).toBeGreaterThan(0)
    expect(before).toBeLessThan(traffic.sent.size)

    // A client of the old server goes on with the new one, where it left off.
    way.redirect(newUrl)
    old.kill('SIGTERM')
    expect(await old.code).toBe(0)
    const last = await ben.on(newUrl).messages.send({ channelId, text: 'The last one' })
    expect(await expectAllReceived(throughProxy, rev + 1)).toBe(traffic.sent.size + 1)
    // Of a message that is deleted before it was delivered, only the deletion is.
    const kept = stored.flatMap(({ id, text }) => (text === null ? [] : id))
    const messages = () => receiver.received.filter(({ type }) => type === 'message.new')
    const idOf = ({ data }: Received) => (data as WebhookEvents['message.new']).message.id
    const delivered = () => messages().map(idOf)
    const all = expect.arrayContaining([root.id, ...kept, last.id])
    const isDelivered = () => expect(delivered()).toEqual(all)
    await vi.waitFor(isDelivered, patient)
    // One that a server was about to note as delivered when it ended may come again, as itself.
    const webhooks = messages().map((each) => `${each.headers['webhook-id']} ${idOf(each)}`)
    expect(new Set(webhooks).size).toBe(new Set(delivered()).size)
    for (const { output } of [old, fresh])
      expect(output().match(/^.*"level":"(?:error|fatal)".*$/gm)).toBeNull()
  },
)
