import { limits } from '@parley/contract'
import { expect, test } from 'vitest'
import { askBounded } from './support/bounded-answer.ts'
import { upTo } from './support/events.ts'
import { insertMembers, insertUsers, insertWorkspace } from './support/inserted.ts'
import { type User, useWorld } from './support/world.ts'

const world = useWorld()
const READERS = 120
/** 8 KB. */
const IMAGE = `https://example.com/${'😀'.repeat(limits.urlLength - 20)}`
/** 12 KB as JSON. */
const ESCAPED_IMAGE = `https://example.com/${'\u0001'.repeat(limits.urlLength - 20)}`
/** Twice as long as JSON. */
const NAME = '"'.repeat(limits.nameLength)

/** Users with the longest names and images. */
async function createUsers(prefix: string, size = READERS) {
  const { db, appId } = world()
  const ids = await insertUsers(world(), prefix, size)
  await db`
    update users
    set name = ${NAME}, image = ${IMAGE}
    where app_id = ${appId}
      and id = any(${ids})`
  return ids
}

/** A group of a user and many others, who have read all of its messages. */
async function createTalk(name: string, messages: number) {
  const { db, appId } = world()
  const ana = await world().user(name)
  const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Talk' })
  const ids = await createUsers(`${name}-fan-`)
  await insertMembers(world(), channelId, ids)
  const sent = await db<{ id: string }[]>`
    insert into messages (id, app_id, channel_id, user_id, seq, rev, text, mentions, attachments)
    select gen_random_uuid(), ${appId}, ${channelId}, ${ana.id}, n, n + 1, 'x', '{}', '[]'
    from generate_series(1, ${messages}) n
    returning id`
  await db`
    update members
    set last_read_seq = ${messages}
    where channel_id = ${channelId}
      and user_id = any(${ids})`
  await db`
    insert into read_marks (app_id, channel_id, user_id, seq)
    select app_id, channel_id, user_id, last_read_seq
    from members
    where channel_id = ${channelId}
      and user_id = any(${ids})`
  return { ana, channelId, ids, messageIds: sent.map(({ id }) => id) }
}

type Receipts = Record<string, { readCount: number; readers: { userId: string }[] }>
const askForReceipts = (user: User, channelId: string, messageIds: string[]) =>
  askBounded<{ receipts: Receipts }>(world(), user, {
    path: `channels/${channelId}/receipts/query`,
    body: { messageIds },
  })

test('receipts show as many readers as an answer has room for, of each message alike', async () => {
  const { ana, channelId, messageIds } = await createTalk('r-ana', limits.receiptsPerCall)
  const shownOf = async (ids: string[]) => {
    const { receipts } = await askForReceipts(ana, channelId, ids)
    const each = Object.values(receipts)
    expect(each.map(({ readCount }) => readCount)).toEqual(ids.map(() => READERS))
    return each.map(({ readers }) => readers.length)
  }
  const many = await shownOf(messageIds)
  expect(Math.max(...many) - Math.min(...many)).toBeLessThanOrEqual(1)
  const few = await shownOf(messageIds.slice(0, 4))
  expect(few.every((count) => count > 25 && count <= 30)).toBe(true)
  const [messageId = ''] = messageIds
  const one = await askBounded<{ readBy: object[]; readCount: number }>(world(), ana, {
    path: `channels/${channelId}/receipts/messages/${messageId}/receipts`,
  })
  expect(one.readCount).toBe(READERS)
  expect(one.readBy.length).toBe(limits.readersShown)
  await world().db`
    update users
    set name = null, image = null
    where app_id = ${world().appId}
      and id like 'r-ana-fan-%'`
  expect(await shownOf(messageIds.slice(0, 80))).toEqual(Array(80).fill(limits.readersShown))
})

type Page<Each> = { members: Each[]; nextCursor: string | null }
type Listed = { userId: string }

/** The ids of a list of users, by page. */
async function walk(user: User, path: string) {
  const found: string[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<Listed> = await askBounded(world(), user, {
      path: `${path}?limit=1000${cursor && `&cursor=${cursor}`}`,
    })
    found.push(page.members.map(({ userId }) => userId))
    cursor = page.nextCursor
  }
  return found
}

test('a list of read positions ends after a megabyte, and its cursor continues', async () => {
  const { ana, channelId, ids } = await createTalk('s-ana', 1)
  const found = await walk(ana, `channels/${channelId}/receipts/read-status`)
  expect(found.flat().toSorted()).toEqual(['s-ana', ...ids].toSorted())
  expect(found).toHaveLength(2)
})

test('members with long names and images end after a megabyte, wherever they are', async () => {
  const { ana, channelId, ids } = await createTalk('l-ana', 1)
  const found = await walk(ana, `channels/${channelId}/members`)
  expect(found.flat().toSorted()).toEqual(['l-ana', ...ids].toSorted())
  expect(found).toHaveLength(2)
  const added = await askBounded<Page<Listed>>(world(), ana, {
    path: `channels/${channelId}/members`,
    body: { userIds: ids },
  })
  expect(added.members.length).toBeGreaterThan(100)
  const channel = await askBounded<{ members: Listed[] }>(world(), ana, {
    path: `channels/${channelId}`,
  })
  expect(channel.members.length).toBeGreaterThan(50)
  await world().db`
    update channels
    set member_count = ${READERS + 1}
    where id = ${channelId}`
  const synced = await askBounded<{ channels: Record<string, { members?: object }> }>(
    world(),
    ana,
    { path: 'sync', body: { channels: { [channelId]: 0 }, members: [channelId] } },
  )
  expect(synced.channels[channelId]).not.toHaveProperty('members')
})

test('members of a workspace end after a megabyte, and their cursor continues', async () => {
  const ana = await world().user('w-ana')
  const ids = await createUsers('w-ana-fan-')
  const roles = ids.map((id) => [id, 'member'])
  const workspaceId = await insertWorkspace(world(), {
    [ana.id]: 'owner',
    ...Object.fromEntries(roles),
  })
  const found = await walk(ana, `workspaces/${workspaceId}/members`)
  expect(found.flat()).toEqual(['w-ana', ...ids])
  expect(found).toHaveLength(2)
})

type Users = { users: { id: string }[]; nextCursor: string | null }

test('users with long names and images end after a megabyte in every list', async () => {
  const { db, appId } = world()
  const ana = await world().user('u-ana')
  const ids = await createUsers('u-ana-fan-', limits.page.users.max)
  await db`
    update users
    set image = ${ESCAPED_IMAGE}
    where app_id = ${appId}
      and id = any(${ids})`
  const queries = ['limit=100', `limit=100&q=${'%22'.repeat(3)}`, `ids=${ids}`]
  for (const query of queries) {
    const found: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Users = await askBounded(world(), ana, {
        path: `users?${query}${cursor && `&cursor=${cursor}`}`,
      })
      found.push(...page.users.map(({ id }) => id))
      cursor = page.nextCursor
    }
    expect(found.filter((id) => id.startsWith('u-ana-fan-')).toSorted()).toEqual(ids.toSorted())
  }
})

type Workspaces = {
  workspaces: { id: string; isDefault: boolean; memberCount: number; channelCount: number }[]
  nextCursor: string | null
}

test('members of a workspace are counted up to a limit, which is lower in long lists', async () => {
  const { db, appId } = world()
  const { each, all } = limits.workspaceCounted
  const ana = await world().user('c-ana')
  const workspaceId = await insertWorkspace(world(), { [ana.id]: 'owner' })
  const ids = await insertUsers(world(), 'counted-', each)
  await db`
    insert into workspace_members (app_id, workspace_id, user_id, role)
    select ${appId}, ${workspaceId}, given, 'member'
    from unnest(${ids}::text[]) given`
  const { workspaces } = await askBounded<Workspaces>(world(), ana, { path: 'workspaces' })
  expect(workspaces).toMatchObject([{ id: workspaceId, memberCount: each }])
  for (const _ of upTo(19)) await insertWorkspace(world(), { [ana.id]: 'owner' })
  const list = await askBounded<Workspaces>(world(), ana, { path: 'workspaces' })
  const counts = list.workspaces.map(({ memberCount }) => memberCount)
  expect(counts).toEqual([all / 20, ...Array(19).fill(1)])
})

test('workspaces are listed in pages of a hundred, or of a megabyte', async () => {
  const { db, appId } = world()
  const ana = await world().user('p-ana')
  // All in one statement: she joined them at the same time.
  const made = await db<{ id: string }[]>`
    with made as (
      insert into workspaces (id, app_id, name, type, image, created_by)
      select
        gen_random_uuid(), ${appId}, 'Acme', 'team', case when n <= 110 then ${IMAGE} end, 'p-ana'
      from generate_series(1, 230) n
      returning id
    )
    insert into workspace_members (app_id, workspace_id, user_id, role)
    select ${appId}, id, 'p-ana', 'owner'
    from made
    returning workspace_id as id`
  const pages: Workspaces[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Workspaces = await askBounded(world(), ana, {
      path: `workspaces${cursor && `?cursor=${cursor}`}`,
    })
    pages.push(page)
    cursor = page.nextCursor
  }
  const listed = pages.flatMap(({ workspaces }) => workspaces)
  expect(listed.map(({ id }) => id)).toEqual(made.map(({ id }) => id).toSorted())
  expect(listed.map(({ isDefault }) => isDefault)).toEqual(listed.map((_, index) => index === 0))
  expect(pages.map(({ workspaces }) => workspaces.length)).toEqual([100, 100, 30])
  await db`
    update workspaces
    set image = ${ESCAPED_IMAGE}
    where app_id = ${appId}
      and created_by = 'p-ana'`
  const first = await askBounded<Workspaces>(world(), ana, { path: 'workspaces?limit=1000' })
  expect(first.workspaces.length).toBeGreaterThan(75)
  expect(first.workspaces.length).toBeLessThan(100)
  expect(first.nextCursor).not.toBeNull()
})
