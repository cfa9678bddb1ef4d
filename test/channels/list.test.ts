import { describe, expect, test } from 'vitest'
import { inBatches } from '../support/batches.ts'
import { withoutCleanup } from '../support/locks.ts'
import { rest } from '../support/rest.ts'
import { type User, useSharedWorld } from '../support/world.ts'
import { otherAppIn } from './fixture.ts'

const world = useSharedWorld()
const otherApp = otherAppIn(world)

describe('listing channels', () => {
  test("the list shows the user's own channels in pages, latest activity first", async () => {
    const [ana, ben] = await world().users('list-ana', 'list-ben')
    const create = (name: string) =>
      ana.channels.create({ type: 'group', name, memberIds: ['list-ben'] })
    const [first, second, third] = [
      await create('First'),
      await create('Second'),
      await create('Third'),
    ]
    await ben.channels.create({ type: 'public', name: 'Not mine' })
    const ids = async (page: { limit?: number; offset?: number } = {}) =>
      (await ana.channels.list(page)).channels.map(({ id }) => id)
    expect(await ids()).toEqual([third.id, second.id, first.id])
    const message = await ben.messages.send({ channelId: first.id, text: 'hi' })
    expect(await ids()).toEqual([first.id, third.id, second.id])
    await ana.messages.send({ channelId: second.id, text: 'hi' })
    expect(await ids()).toEqual([second.id, first.id, third.id])
    expect([
      await ids({ limit: 1 }),
      await ids({ limit: 1, offset: 1 }),
      await ids({ offset: 2 }),
      await ids({ offset: 3 }),
    ]).toEqual([[second.id], [first.id], [third.id], []])
    expect((await ana.channels.list()).channels[1]).toMatchObject({
      id: first.id,
      unreadCount: 1,
      lastMessage: message,
    })
    expect((await ana.channels.list()).channels[1]).not.toHaveProperty('members')
    const ref = { channelId: first.id, messageId: message.id }
    await ana.reactions.add({ ...ref, emoji: '👍' })
    await ana.reactions.remove({ ...ref, emoji: '👍' })
    await ana.channels.update({ channelId: third.id, name: 'Third' })
    // Only messages are activity.
    expect(await ids()).toEqual([second.id, first.id, third.id])
  })

  test('only a message moves a channel up the list', async () => {
    const [ana, ben] = await world().users('order-ana', 'order-ben')
    const create = (name: string) =>
      ana.channels.create({ type: 'group', name, memberIds: ['order-ben'] })
    const { id: channelId } = await create('First')
    const { id: messageId } = await ana.messages.send({ channelId, text: 'hi' })
    const { id: other } = await create('Second')
    const changes = {
      reaction: () => ben.reactions.add({ channelId, messageId, emoji: '👍' }),
      pin: () => ben.pins.pin({ channelId, messageId }),
      edit: () => ana.messages.edit({ channelId, messageId, text: 'ho' }),
      profile: () => ana.channels.update({ channelId, name: 'Renamed' }),
      settings: () => ana.channels.updateSettings({ channelId, starred: true }),
      read: () => ben.reads.mark({ channelId }),
      role: () => ana.members.update({ channelId, userId: 'order-ben', role: 'moderator' }),
      leave: () => ben.members.leave({ channelId }),
      deletion: () => ana.messages.delete({ channelId, messageId }),
    }
    const ids = async () => (await ana.channels.list()).channels.map(({ id }) => id)
    for (const [change, make] of Object.entries(changes)) {
      await make()
      expect({ change, ids: await ids() }).toEqual({ change, ids: [other, channelId] })
    }
    await ana.messages.send({ channelId, text: 'new' })
    expect(await ids()).toEqual([channelId, other])
  })

  test('a deleted channel is not listed, even before its rows are removed', async () => {
    const [ana] = await world().users('gone-ana', 'gone-ben')
    const create = (name: string) =>
      ana.channels.create({ type: 'group', name, memberIds: ['gone-ben'] })
    const [gone, kept] = [await create('Gone'), await create('Kept')]
    await withoutCleanup(world(), async () => {
      await ana.channels.delete({ channelId: gone.id })
      const { channels } = await ana.channels.list()
      expect(channels.map(({ id }) => id)).toEqual([kept.id])
      const answer = await ana.sync.pull({ channels: { [gone.id]: 0, [kept.id]: 0 } })
      expect(answer.channels[gone.id]).toEqual({ removed: true })
    })
  })

  test('the last message of a channel is the newest that is not deleted', async () => {
    const ana = await world().user('last-ana')
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Last' })
    const first = await ana.messages.send({ channelId, text: 'first' })
    const second = await ana.messages.send({ channelId, text: 'second' })
    const last = async () => (await ana.channels.list()).channels[0]?.lastMessage
    expect(await last()).toEqual(second)
    await ana.messages.delete({ channelId, messageId: second.id })
    expect(await last()).toEqual(first)
    await ana.messages.delete({ channelId, messageId: first.id })
    expect(await last()).toBeNull()
  })

  test('a listed channel equals the fetched one, without its members', async () => {
    const ana = await world().user('same-ana')
    const { id: channelId } = await ana.channels.create({
      type: 'team',
      name: 'Same',
      image: 'https://example.com/c.png',
    })
    const { members: _, ...channel } = await ana.channels.get({ channelId })
    expect(Math.abs(Date.parse(channel.createdAt) - Date.now())).toBeLessThan(60_000)
    expect((await ana.channels.list()).channels).toEqual([channel])
  })

  test('a page of channels holds 50 by default and at most 100', async () => {
    const ana = await world().user('many-ana')
    const names = Array.from({ length: 101 }, (_, index) => `Many ${index}`)
    await inBatches(names, 20, (name) => ana.channels.create({ type: 'group', name }))
    expect((await ana.channels.list({ limit: 500 })).channels).toHaveLength(100)
    expect((await ana.channels.list()).channels).toHaveLength(50)
  })

  test.each([
    'limit=0',
    'limit=-1',
    'limit=1.5',
    'limit=0x10',
    'limit=1e3',
    'limit=',
    'limit=ten',
    'limit=1&limit=2',
    'offset=-1',
    'offset=1.0',
    'offset=99999999999',
    'type=public',
    'type=private',
    'type=Group',
    'discover=yes',
    'discover=1',
    `q=${'x'.repeat(256)}`,
  ])('listing channels with ?%s is refused', async (query) => {
    const ana = await world().user('ana')
    expect(await rest(world(), ana)('GET', `/api/channels?${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR' } },
    })
  })

  test.each(['messaging', 'group', 'team', 'livestream'] as const)(
    'the list of channels is filtered by type %s',
    async (type) => {
      const [ana] = await world().users('type-ana', `type-${type}`)
      const { id } = await ana.channels.create({ type, name: 'Typed', memberIds: [`type-${type}`] })
      await ana.channels.create({ type: 'public', name: 'Typed' })
      expect((await ana.channels.list({ type })).channels.map((channel) => channel.id)).toEqual([
        id,
      ])
    },
  )

  const discovered = async ({ channels }: User, offset = 0) => {
    const page = await channels.list({ discover: true, limit: 1, offset })
    return page.channels.map(({ id }) => id)
  }
  test.each(['public', 'livestream'] as const)(
    'discovery lists a %s channel by its last message, in full pages',
    async (type) => {
      const { db, appId } = world()
      const [ana] = await world().users('ana')
      const create = (type: 'public' | 'livestream') => ana.channels.create({ type, name: 'Open' })
      const [older, newer] = [await create(type), await create('livestream')]
      // Channels of other apps, the newest of all, take no place of a page.
      const stranger = await world().stranger()
      const { token } = await stranger.tokens.create({ userId: 'zoe' })
      await world().api({ token }).channels.create({ type: 'public', name: 'Elsewhere' })
      expect(await discovered(ana)).toEqual([newer.id])
      await ana.messages.send({ channelId: older.id, text: 'hi' })
      expect(await discovered(ana)).toEqual([older.id])
      await db`
        update channels
        set last_activity_at = '2020-01-01T10:20:00Z', active_hour = '2020-01-01T10:00:00Z'
        where app_id = ${appId}
          and id = ${older.id}`
      expect(await discovered(ana)).toEqual([newer.id])
      await ana.messages.send({ channelId: older.id, text: 'hi' })
      expect(await discovered(ana)).toEqual([older.id])
    },
  )

  test('discovery lists channels active in the same hour by their exact time', async () => {
    const ana = await world().user('hour-ana')
    const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
    const ids: string[] = []
    for (const kind of [{ type: 'public' }, { type: 'team', workspaceId }] as const)
      for (const name of ['One', 'Two', 'Three'])
        ids.push((await ana.channels.create({ ...kind, name })).id)
    for (const index of [0, 3, 0]) {
      await ana.messages.send({ channelId: ids[index] ?? '', text: 'hi' })
      expect(await discovered(ana)).toEqual([ids[index]])
    }
    expect(await discovered(ana, 5)).toEqual([ids[1]])
  })

  test('discovery lists channels that anyone can join, and no others', async () => {
    const [ana, ben] = await world().users('find-ana', 'find-ben')
    for (const type of ['public', 'livestream', 'group', 'team', 'private'] as const)
      await ana.channels.create({ type, name: `Findable ${type}` })
    await ana.channels.create({ type: 'messaging', memberIds: ['find-ben'], name: 'Findable pair' })
    const found = (await ben.channels.list({ discover: true, q: 'findable' })).channels
    expect(found.map(({ name, role, unreadCount }) => [name, role, unreadCount])).toEqual([
      ['Findable livestream', null, 0],
      ['Findable public', null, 0],
    ])
    const streams = { discover: true, type: 'livestream', q: 'findable' } as const
    expect((await ben.channels.list(streams)).channels.map(({ name }) => name)).toEqual([
      'Findable livestream',
    ])
    const asked = await rest(world(), ben)('GET', '/api/channels?discover=false&q=findable')
    expect(asked.body.channels).toMatchObject([{ type: 'messaging' }])
    expect(
      (await (await (await otherApp()).user('ana')).channels.list({ discover: true })).channels,
    ).toEqual([])
  })

  test('channels are found by part of their name, in any case and without wildcards', async () => {
    const ana = await world().user('search-ana')
    for (const name of ['100% Élan', 'under_score', 'back\\slash', 'Plain'])
      await ana.channels.create({ type: 'public', name })
    const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
    await ana.channels.create({ type: 'team', name: 'Team', workspaceId })
    const found = async (q: string) =>
      (await ana.channels.list({ discover: true, q })).channels.map(({ name }) => name)
    expect(await found('%')).toEqual(['100% Élan'])
    expect(await found('_')).toEqual(['under_score'])
    expect(await found('\\')).toEqual(['back\\slash'])
    expect(await found('éLAN')).toEqual(['100% Élan'])
    expect(await found('tEAM')).toEqual(['Team'])
    expect(await found("' or true --")).toEqual([])
    expect((await ana.channels.list({ q: 'PLA' })).channels.map(({ name }) => name)).toEqual([
      'Plain',
    ])
  })

  test('a direct message is found by the name of the other member', async () => {
    const ana = await world().user('peer-ana')
    await world().user('peer-ben', { name: 'Benedikt' })
    await ana.channels.create({ type: 'messaging', memberIds: ['peer-ben'] })
    expect((await ana.channels.list({ q: 'nedik' })).channels).toMatchObject([{ name: 'Benedikt' }])
  })
})
