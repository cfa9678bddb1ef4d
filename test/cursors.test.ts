import { expect, onTestFinished, test } from 'vitest'
import { insertMembers, insertUsers } from './support/inserted.ts'
import { useSharedWorld } from './support/world.ts'

const world = useSharedWorld()
const refusal = { code: 'VALIDATION_ERROR' }

type Page<Row> = { rows: Row[]; nextCursor: string | null }

/** All rows of a list, page by page; `between` runs after each page. */
async function walk<Row>(
  read: (cursor: string | undefined) => Promise<Page<Row>>,
  between: (page: Page<Row>) => Promise<unknown> = async () => {},
) {
  const all: Row[] = []
  let cursor: string | undefined
  for (;;) {
    const page = await read(cursor)
    all.push(...page.rows)
    if (page.nextCursor === null) return all
    await between(page)
    cursor = page.nextCursor
  }
}

const createChannel = async (size: number) => {
  const [ana] = await world().users('ana')
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const ids = await insertUsers(world(), `paged-${Math.random()}-`, size)
  // All in one statement: they joined at the same time.
  await insertMembers(world(), channelId, ids)
  return { ana, channelId, ids }
}

test('cursors lead through all users once, by name and then by id', async () => {
  const prefix = `Same ${Math.random()}`
  const ids = await insertUsers(world(), `same-${Math.random()}-`, 5)
  await world().db`
    update users
    set name = ${`${prefix} ñ"\\`}
    where app_id = ${world().appId}
      and id = any(${ids})`
  const { backend } = world()
  const found = await walk(async (cursor) => {
    const { users, nextCursor } = await backend.users.list({ limit: 2, q: prefix, cursor })
    return { rows: users, nextCursor }
  })
  expect(found.map(({ id }) => id)).toEqual(ids)
  const all = await walk(async (cursor) => {
    const { users, nextCursor } = await backend.users.list({ limit: 3, cursor })
    return { rows: users, nextCursor }
  })
  // Not whole users: when they were last active is written every few seconds.
  const { users } = await backend.users.list({ limit: 100 })
  expect(all.map(({ id }) => id)).toEqual(users.map(({ id }) => id))
})

test('cursors lead through members who joined at once, and past those who left', async () => {
  const { ana, channelId, ids } = await createChannel(5)
  const pages = (between?: (page: Page<{ userId: string }>) => Promise<unknown>) =>
    walk(async (cursor) => {
      const { members, nextCursor } = await ana.members.list({ channelId, limit: 2, cursor })
      return { rows: members, nextCursor }
    }, between)
  const namesOf = (rows: { userId: string }[]) => rows.map(({ userId }) => userId)
  expect(namesOf(await pages())).toEqual(['ana', ...ids])
  // The last one of each page leaves before the next is read.
  const left = await pages(async ({ rows }) => {
    const last = rows.at(-1)
    if (last) await ana.members.remove({ channelId, userId: last.userId })
  })
  expect(namesOf(left)).toEqual(['ana', ...ids])
})

test('cursors lead through read positions', async () => {
  const { ana, channelId, ids } = await createChannel(4)
  const found = await walk(async (cursor) => {
    const { members, nextCursor } = await ana.receipts.status({ channelId, limit: 2, cursor })
    return { rows: members, nextCursor }
  })
  expect(found.map(({ userId }) => userId)).toEqual(['ana', ...ids])
})

test('cursors lead a backend through all channels, whatever is created or deleted', async () => {
  const { apiKey } = await world().operator.apps.create({ name: 'Lister' })
  const backend = world().api({ apiKey })
  const ana = world().api({ apiKey, userId: 'ana' })
  const create = async () => (await ana.channels.create({ type: 'group', name: 'Talk' })).id
  const ids: string[] = []
  for (const _ of [1, 2, 3, 4, 5]) ids.unshift(await create())
  const found = await walk(
    async (cursor) => {
      const { channels, nextCursor = null } = await backend.channels.list({ limit: 2, cursor })
      return { rows: channels, nextCursor }
    },
    async ({ rows }) => {
      await create()
      await backend.channels.delete({ channelId: rows[0]?.id ?? '' })
    },
  )
  expect(found.map(({ id }) => id)).toEqual(ids)
  await expect(ana.channels.list({ cursor: 'x' })).rejects.toMatchObject(refusal)
  expect(await ana.channels.list()).not.toHaveProperty('nextCursor')
})

test('an offset counts from the cursor', async () => {
  const { ana, channelId, ids } = await createChannel(5)
  const { nextCursor } = await ana.members.list({ channelId, limit: 2 })
  const { members } = await ana.members.list({
    channelId,
    limit: 2,
    offset: 1,
    cursor: nextCursor ?? undefined,
  })
  expect(members.map(({ userId }) => userId)).toEqual(ids.slice(2, 4))
})

test('a cursor that no page has given is refused', async () => {
  const { ana, channelId } = await createChannel(1)
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const forged = ['x', '!', encode(null), encode(['a']), encode(['a', 'b', 'c']), encode([1, 'a'])]
  for (const cursor of [...forged, encode(['a\0', 'b'])]) {
    await expect(ana.users.list({ cursor })).rejects.toMatchObject(refusal)
    await expect(world().backend.channels.list({ cursor })).rejects.toMatchObject(refusal)
    await expect(ana.members.list({ channelId, cursor })).rejects.toMatchObject(refusal)
  }
  for (const time of ['', 'now', '-1', '1e9', '9'.repeat(17)]) {
    const cursor = encode([time, 'ana'])
    await expect(ana.receipts.status({ channelId, cursor })).rejects.toMatchObject(refusal)
  }
  const { operator, appId } = world()
  for (const number of ['', '-1', '1e9', '9'.repeat(19)]) {
    const page = { appId, cursor: encode([number, '']) }
    await expect(operator.audit.listOfApp(page)).rejects.toMatchObject(refusal)
  }
})

test('a forged cursor of a channel that does not exist leaves no failure behind', async () => {
  const [ana] = await world().users('ana')
  const page = { channelId: crypto.randomUUID(), cursor: 'forged' }
  const failures: unknown[] = []
  const note = (reason: unknown) => void failures.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  for (const read of [ana.members.list, ana.receipts.status])
    await expect(read(page)).rejects.toMatchObject(refusal)
  // The refusal of the channel comes after that of the cursor.
  await ana.channels.list({})
  await new Promise((resolve) => setImmediate(resolve))
  expect(failures).toEqual([])
})
