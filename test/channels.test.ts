import { ChannelType } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { channelEventsOf, userEventsOf } from './support/events.ts'
import { insertCrowd, insertWorkspace } from './support/inserted.ts'
import { complaint, forbidden, invalid, notFound, refusal, refusals } from './support/refusal.ts'
import { rest } from './support/rest.ts'
import { ADMIN_KEY, useWorld } from './support/world.ts'

const world = useWorld()
const unknownId = '019c9b1e-7a52-7cc1-8f0e-3d2f5b6a7c81'

const otherApp = async () => {
  const { id: appId, apiKey } = await world()
    .api({ adminKey: ADMIN_KEY })
    .apps.create({ name: 'Other' })
  const backend = world().api({ apiKey })
  return { appId, backend, user: (id: string) => world().user(id, {}, backend) }
}

describe('creating', () => {
  test.each(ChannelType.options.filter((type) => type !== 'messaging'))(
    'a channel of type %s belongs to who made it',
    async (type) => {
      const [ana] = await world().users('ana', 'ben')
      const input = {
        type,
        name: `New ${type}`,
        description: 'About',
        image: 'https://example.com/c.png',
        memberIds: ['ben'],
      }
      const { status, body } = await rest(world(), ana)('POST', '/api/channels', input)
      expect(status).toBe(201)
      // biome-ignore format: the fields of a channel
      expect(body).toMatchObject({
      cid: `${type}:new-${type}`, name: `New ${type}`, type, description: 'About', image: 'https://example.com/c.png', workspaceId: null,
      createdBy: 'ana', memberCount: 2, unreadCount: 0, lastMessage: null, lastReadSeq: 0, role: 'owner', starred: false, muted: false, rev: 2,
    })
      expect(
        body.members.map(({ userId, role }: { userId: string; role: string }) => [userId, role]),
      ).toEqual([
        ['ana', 'owner'],
        ['ben', 'member'],
      ])
      expect(await ana.channels.get({ channelId: body.id })).toEqual(body)
    },
  )

  test('what was left out is null', async () => {
    const ana = await world().user('ana')
    expect(await ana.channels.create({ type: 'group', name: 'Bare' })).toMatchObject({
      description: null,
      image: null,
      workspaceId: null,
      memberCount: 1,
    })
  })

  test('every type but messaging wants a name of 1 to 255 characters', async () => {
    const ana = await world().user('ana')
    expect(await complaint(ana.channels.create({ type: 'group' }))).toContain('name')
    for (const name of [undefined, '', 'x'.repeat(256)]) {
      expect(
        await refusal(
          ana.channels.create({ type: 'team', ...(name === undefined ? {} : { name }) }),
        ),
      ).toEqual(invalid)
    }
    expect(
      (await ana.channels.create({ type: 'group', name: '🦄'.repeat(255) })).name,
    ).toHaveLength(510)
  })

  test('an unknown type is refused', async () => {
    const ana = await world().user('ana')
    for (const type of ['broadcast', 'GROUP', '', null]) {
      expect(
        (await rest(world(), ana)('POST', '/api/channels', { type, name: 'Odd' })).status,
      ).toBe(400)
    }
  })

  test('the cid is the type and a slug of the name, with a suffix when that is taken', async () => {
    const ana = await world().user('ana')
    const cidOf = async (name: string) => (await ana.channels.create({ type: 'group', name })).cid
    expect(await cidOf('  Café & Kitchen -- Talk! ')).toBe('group:cafe-and-kitchen-talk')
    expect(await cidOf('Café & Kitchen Talk')).toMatch(/^group:cafe-and-kitchen-talk-[0-9a-f]{6}$/)
    expect(await cidOf('YouTube fans')).toBe('group:youtube-fans')
    for (const name of ['日本', '🦄', '...', `${'long '.repeat(50)}`])
      expect(await cidOf(name)).toMatch(/^group:[a-z0-9]+(-[a-z0-9]+)*$/)
    expect((await ana.channels.create({ type: 'private', name: 'YouTube fans' })).cid).toBe(
      'private:youtube-fans',
    )
  })

  test('twenty channels of one name at once have twenty cids', async () => {
    const ana = await world().user('ana')
    const made = await Promise.all(
      Array.from({ length: 20 }, () => ana.channels.create({ type: 'group', name: 'Crowded' })),
    )
    expect(new Set(made.map(({ cid }) => cid)).size).toBe(20)
  })

  test('a client id makes creating repeatable, also twenty times at once', async () => {
    const [ana, ben] = await world().users('ana', 'ben')
    const create = () =>
      ana.channels.create({ type: 'group', name: 'Once', clientId: 'c-1', memberIds: ['ben'] })
    const made = await Promise.all(Array.from({ length: 20 }, create))
    expect(new Set(made.map(({ id }) => id)).size).toBe(1)
    const channelId = made[0]?.id ?? ''
    expect(await channelEventsOf(world(), channelId)).toHaveLength(2)
    expect(
      await rest(world(), ana)('POST', '/api/channels', {
        type: 'group',
        name: 'Another',
        clientId: 'c-1',
      }),
    ).toMatchObject({
      status: 201,
      body: { id: channelId, name: 'Once' },
    })
    expect(
      (await ben.channels.create({ type: 'group', name: 'Once', clientId: 'c-1' })).id,
    ).not.toBe(channelId)
  })

  test('a repeated create shows nothing of the channel to somebody who is no longer in it', async () => {
    const [ana, ben] = await world().users('ana', 'ben')
    const create = () =>
      ana.channels.create({ type: 'private', name: 'Left', clientId: 'left', memberIds: ['ben'] })
    const { id: channelId } = await create()
    await ana.members.leave({ channelId })
    await ben.messages.send({ channelId, text: 'secret' })
    expect(await refusal(create())).toEqual(forbidden)
  })

  test('unknown members are named, and nothing is made', async () => {
    const [ana] = await world().users('ana', 'ben')
    await (await otherApp()).user('stranger')
    const before = await ana.channels.list()
    const call = () =>
      ana.channels.create({
        type: 'group',
        name: 'Ghosts',
        memberIds: ['ben', 'ghost', 'stranger'],
        clientId: 'ghosts',
      })
    expect(await refusal(call())).toEqual(invalid)
    expect(await complaint(call())).toMatch(/memberIds.*"ghost", "stranger"/)
    expect(await complaint(call())).not.toContain('ben')
    expect(await ana.channels.list()).toEqual(before)
  })

  test('members are taken once each, and oneself is one already', async () => {
    const [ana] = await world().users('ana', 'ben')
    const channel = await ana.channels.create({
      type: 'group',
      name: 'Twice',
      memberIds: ['ben', 'ana', 'ben'],
    })
    expect(channel).toMatchObject({ memberCount: 2, role: 'owner', rev: 2 })
  })

  test('a thousand members may be named, and no more; a hundred are shown', async () => {
    const ana = await world().user('ana')
    const memberIds = await insertCrowd(world(), 'crowd', 1_001)
    expect(await refusal(ana.channels.create({ type: 'group', name: 'Full', memberIds }))).toEqual(
      invalid,
    )
    const channel = await ana.channels.create({
      type: 'group',
      name: 'Full',
      memberIds: memberIds.slice(0, 1_000),
    })
    expect(channel).toMatchObject({ memberCount: 1_001, rev: 1_001 })
    expect(channel.members).toHaveLength(100)
  })

  test('a workspace takes channels of its own people only', async () => {
    const [ana, ben] = await world().users('ana', 'ben')
    const workspaceId = await insertWorkspace(world(), { ana: 'owner' })
    expect(await ana.channels.create({ type: 'team', name: 'Plans', workspaceId })).toMatchObject({
      workspaceId,
    })
    expect(
      await refusal(ben.channels.create({ type: 'team', name: 'Plans', workspaceId })),
    ).toEqual(forbidden)
    expect(
      await refusal(ana.channels.create({ type: 'team', name: 'Plans', workspaceId: 'acme' })),
    ).toEqual(invalid)
    const other = await otherApp()
    const stranger = await other.user('ana')
    const unknown = rest(world(), stranger)('POST', '/api/channels', {
      type: 'team',
      name: 'Plans',
      workspaceId: unknownId,
    })
    const foreign = rest(world(), stranger)('POST', '/api/channels', {
      type: 'team',
      name: 'Plans',
      workspaceId,
    })
    expect(await foreign).toEqual(await unknown)
    expect((await unknown).status).toBe(404)
  })
})

describe('a direct message', () => {
  test('is named and shown after the other member', async () => {
    const ana = await world().user('dm-ana', { name: 'Ana', image: 'https://example.com/ana.png' })
    const ben = await world().user('dm-ben', { name: 'Ben' })
    const channel = await ana.channels.create({ type: 'messaging', memberIds: ['dm-ben'] })
    expect(channel).toMatchObject({
      type: 'messaging',
      name: 'Ben',
      image: null,
      memberCount: 2,
      role: 'owner',
    })
    expect(channel.cid).toMatch(/^messaging:[0-9a-f]{16}$/)
    expect((await ben.channels.list()).channels).toMatchObject([
      {
        id: channel.id,
        name: 'Ana',
        image: 'https://example.com/ana.png',
        role: 'member',
        members: [{}, {}],
      },
    ])
    const [added] = await userEventsOf(world(), 'dm-ben')
    expect(added).toMatchObject({
      type: 'channel.added',
      payload: {
        channel: {
          id: channel.id,
          name: 'Ana',
          image: 'https://example.com/ana.png',
          role: 'member',
        },
      },
    })
  })

  test('exists once for a pair, whoever asks and in whatever order', async () => {
    const [ana, ben] = await world().users('one-ana', 'one-ben')
    const first = await ana.channels.create({
      type: 'messaging',
      memberIds: ['one-ben'],
      name: 'Ours',
    })
    expect(
      await ana.channels.create({ type: 'messaging', memberIds: ['one-ben'], clientId: 'late' }),
    ).toEqual(first)
    expect(
      await rest(world(), ben)('POST', '/api/channels', {
        type: 'messaging',
        memberIds: ['one-ana'],
      }),
    ).toMatchObject({
      status: 201,
      body: { id: first.id, role: 'member' },
    })
    expect(await channelEventsOf(world(), first.id)).toHaveLength(2)
  })

  test('exists once for a pair, however many create it at once', async () => {
    const [ana] = await world().users('race-ana')
    for (let round = 0; round < 25; round++) {
      const ben = await world().user(`race-${round}`)
      const made = await Promise.all(
        [ana, ben, ana, ben].map((user) =>
          user.channels.create({ type: 'messaging', memberIds: [user === ana ? ben.id : ana.id] }),
        ),
      )
      expect(new Set(made.map(({ id }) => id)).size).toBe(1)
      expect(made[0]).toMatchObject({ memberCount: 2 })
    }
    expect((await ana.channels.list({ limit: 100 })).channels).toHaveLength(25)
  })

  test('wants exactly one other user', async () => {
    const [ana] = await world().users('ana', 'ben', 'cem')
    for (const memberIds of [[], ['ben', 'cem'], ['ana'], ['ghost'], ['']]) {
      expect(await refusal(ana.channels.create({ type: 'messaging', memberIds }))).toEqual(invalid)
    }
    expect(await refusal(ana.channels.create({ type: 'messaging' }))).toEqual(invalid)
  })

  test('can not be edited, and only its creator deletes it; then the pair is free', async () => {
    const [ana, ben] = await world().users('free-ana', 'free-ben')
    const { id: channelId, cid } = await ana.channels.create({
      type: 'messaging',
      memberIds: ['free-ben'],
    })
    expect(await refusal(ana.channels.update({ channelId, name: 'Mine' }))).toEqual(forbidden)
    expect(await refusal(ben.channels.delete({ channelId }))).toEqual(forbidden)
    await ana.channels.delete({ channelId })
    const next = await ben.channels.create({ type: 'messaging', memberIds: ['free-ana'] })
    expect(next.id).not.toBe(channelId)
    expect(next).toMatchObject({ cid, role: 'owner', lastMessage: null })
  })
})

describe('listing', () => {
  test('shows my channels, the newest activity first, in pages', async () => {
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
  })

  test('shows of a channel what the channel itself shows, but for its members', async () => {
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

  test('answers at most 100, and 50 unless told', async () => {
    const ana = await world().user('many-ana')
    await Promise.all(
      Array.from({ length: 101 }, (_, index) =>
        ana.channels.create({ type: 'group', name: `Many ${index}` }),
      ),
    )
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
  ])('refuses ?%s', async (query) => {
    const ana = await world().user('ana')
    expect(await rest(world(), ana)('GET', `/api/channels?${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR' } },
    })
  })

  test.each(['messaging', 'group', 'team', 'livestream'] as const)(
    'filters by type %s',
    async (type) => {
      const [ana] = await world().users('type-ana', `type-${type}`)
      const { id } = await ana.channels.create({ type, name: 'Typed', memberIds: [`type-${type}`] })
      await ana.channels.create({ type: 'public', name: 'Typed' })
      expect((await ana.channels.list({ type })).channels.map((channel) => channel.id)).toEqual([
        id,
      ])
    },
  )

  test('discovers what anyone can join, and nothing else', async () => {
    const [ana, ben] = await world().users('find-ana', 'find-ben')
    for (const type of ['public', 'livestream', 'group', 'team', 'private'] as const)
      await ana.channels.create({ type, name: `Findable ${type}` })
    await ana.channels.create({ type: 'messaging', memberIds: ['find-ben'], name: 'Findable pair' })
    const found = (await ben.channels.list({ discover: true, q: 'findable' })).channels
    expect(found.map(({ name, role, unreadCount }) => [name, role, unreadCount])).toEqual([
      ['Findable livestream', null, 0],
      ['Findable public', null, 0],
    ])
    expect(
      (await (await (await otherApp()).user('ana')).channels.list({ discover: true })).channels,
    ).toEqual([])
  })

  test('searches by part of the name, in any case, every character as itself', async () => {
    const ana = await world().user('search-ana')
    for (const name of ['100% Élan', 'under_score', 'back\\slash', 'Plain'])
      await ana.channels.create({ type: 'public', name })
    const found = async (q: string) =>
      (await ana.channels.list({ discover: true, q })).channels.map(({ name }) => name)
    expect(await found('%')).toEqual(['100% Élan'])
    expect(await found('_')).toEqual(['under_score'])
    expect(await found('\\')).toEqual(['back\\slash'])
    expect(await found('éLAN')).toEqual(['100% Élan'])
    expect(await found("' or true --")).toEqual([])
    expect((await ana.channels.list({ q: 'PLA' })).channels.map(({ name }) => name)).toEqual([
      'Plain',
    ])
  })

  test('finds a direct message by the name of the other member', async () => {
    const ana = await world().user('peer-ana')
    await world().user('peer-ben', { name: 'Benedikt' })
    await ana.channels.create({ type: 'messaging', memberIds: ['peer-ben'] })
    expect((await ana.channels.list({ q: 'nedik' })).channels).toMatchObject([{ name: 'Benedikt' }])
  })
})

describe('one channel', () => {
  test('is shown to members and, where it is open, to everyone', async () => {
    const [ana, ben] = await world().users('ana', 'ben')
    for (const type of ['group', 'private', 'team'] as const) {
      const { id: channelId } = await ana.channels.create({ type, name: 'Closed' })
      expect(await refusal(ben.channels.get({ channelId }))).toEqual(forbidden)
      expect(await complaint(ben.channels.get({ channelId }))).not.toContain('Closed')
    }
    for (const type of ['public', 'livestream'] as const) {
      const { id: channelId } = await ana.channels.create({ type, name: 'Open' })
      expect(await ben.channels.get({ channelId })).toMatchObject({
        name: 'Open',
        role: null,
        memberCount: 1,
        members: [{ userId: 'ana' }],
      })
    }
  })

  test('of a workspace is shown to the people of the workspace', async () => {
    const [ana, ben, cem] = await world().users('ana', 'ben', 'cem')
    const workspaceId = await insertWorkspace(world(), { ana: 'owner', ben: 'member' })
    const team = await ana.channels.create({ type: 'team', name: 'Plans', workspaceId })
    const secret = await ana.channels.create({ type: 'private', name: 'Secrets', workspaceId })
    expect(await ben.channels.get({ channelId: team.id })).toMatchObject({
      name: 'Plans',
      role: null,
    })
    expect(await refusal(cem.channels.get({ channelId: team.id }))).toEqual(forbidden)
    expect(await refusal(ben.channels.get({ channelId: secret.id }))).toEqual(forbidden)
  })

  test('of another app does not exist, no more than an unknown or malformed one', async () => {
    const ana = await world().user('ana')
    const { id } = await ana.channels.create({ type: 'public', name: 'Ours' })
    const stranger = await (await otherApp()).user('ana')
    const get = async (channelId: string) =>
      rest(world(), stranger)('GET', `/api/channels/${channelId}`)
    const unknown = await get(unknownId)
    expect(unknown.status).toBe(404)
    expect(await get(id)).toEqual(unknown)
    expect(await get('general')).toMatchObject({
      status: 404,
      body: { error: { code: 'NOT_FOUND' } },
    })
  })
})

describe('editing', () => {
  test('is for owners and moderators; null clears, absent keeps', async () => {
    const [ana, ben, cem] = await world().users('ana', 'ben', 'cem')
    const {
      id: channelId,
      cid,
      updatedAt,
    } = await ana.channels.create({
      type: 'group',
      name: 'Old',
      description: 'About',
      image: 'https://example.com/a.png',
      memberIds: ['ben', 'cem'],
    })
    await ana.members.update({ channelId, userId: 'ben', role: 'moderator' })
    const edited = await ben.channels.update({ channelId, name: 'New', image: null })
    expect(edited).toMatchObject({ cid, name: 'New', image: null, description: 'About' })
    expect(Date.parse(edited.updatedAt)).toBeGreaterThan(Date.parse(updatedAt))
    expect(await ben.channels.get({ channelId })).toEqual(edited)
    expect(await ana.channels.update({ channelId, description: null })).toMatchObject({
      name: 'New',
      description: null,
    })
    expect(await refusal(cem.channels.update({ channelId, name: 'Mine' }))).toEqual(forbidden)
    expect(
      await refusal((await world().user('dora')).channels.update({ channelId, name: 'Mine' })),
    ).toEqual(forbidden)
    expect((await channelEventsOf(world(), channelId)).at(-1)).toMatchObject({
      type: 'channel.updated',
      payload: { channel: { name: 'New', description: null, cid } },
    })
  })

  test('refuses what is no name, image or description, and a channel that is not there', async () => {
    const ana = await world().user('ana')
    const { id: channelId } = await ana.channels.create({ type: 'group', name: 'Plain' })
    const patch = (body: object, id = channelId) =>
      rest(world(), ana)('PATCH', `/api/channels/${id}`, body)
    for (const body of [
      { name: null },
      { name: '' },
      { image: 'ftp://example.com' },
      { image: 'x' },
      { description: 'x'.repeat(2_001) },
      { name: 7 },
    ]) {
      expect(await patch(body)).toMatchObject({
        status: 400,
        body: { error: { code: 'VALIDATION_ERROR' } },
      })
    }
    expect((await patch({ name: 'x' }, unknownId)).status).toBe(404)
  })

  test('that changes nothing is told nobody', async () => {
    const ana = await world().user('ana')
    const channel = await ana.channels.create({ type: 'group', name: 'Same' })
    expect(await ana.channels.update({ channelId: channel.id, name: 'Same', image: null })).toEqual(
      channel,
    )
    expect(await ana.channels.update({ channelId: channel.id })).toEqual(channel)
    expect(await channelEventsOf(world(), channel.id)).toHaveLength(1)
  })
})

describe('deleting', () => {
  test('is for the owner, and after it the channel is nowhere', async () => {
    const [ana, ben, cem] = await world().users('gone-ana', 'gone-ben', 'gone-cem')
    const create = () =>
      ana.channels.create({
        type: 'public',
        name: 'Fleeting',
        memberIds: ['gone-ben'],
        clientId: 'fleeting',
      })
    const { id: channelId, cid } = await create()
    await ana.members.update({ channelId, userId: 'gone-ben', role: 'moderator' })
    const { id: messageId } = await ben.messages.send({ channelId, text: 'hi', clientId: 'm' })
    expect(await refusal(ben.channels.delete({ channelId }))).toEqual(forbidden)
    expect(await refusal(cem.channels.delete({ channelId }))).toEqual(forbidden)
    expect((await ana.reads.unreadCount()).count).toBe(1)
    expect(await ana.channels.delete({ channelId })).toEqual({ success: true })

    const ref = { channelId, messageId }
    // biome-ignore format: one of each
    const calls = [
      ana.channels.get({ channelId }), ana.channels.update({ channelId, name: 'Back' }), ana.channels.delete({ channelId }), ana.channels.updateSettings({ channelId, muted: true }),
      ana.members.list({ channelId }), ana.members.add({ channelId, userIds: ['gone-cem'] }), cem.members.join({ channelId }), ben.members.leave({ channelId }),
      ana.members.remove({ channelId, userId: 'gone-ben' }), ana.members.update({ channelId, userId: 'gone-ben', role: 'member' }),
      ana.messages.list({ channelId }), ana.messages.get(ref), ana.messages.replies(ref), ben.messages.send({ channelId, text: 'hi', clientId: 'm' }), ben.messages.edit({ ...ref, text: 'x' }), ben.messages.delete(ref),
      world().backend.messages.delete(ref), ana.reactions.add({ ...ref, emoji: '👍' }), ana.reactions.remove({ ...ref, emoji: '👍' }), ana.pins.pin(ref), ana.pins.unpin(ref), ana.pins.list({ channelId }),
      ana.reads.mark({ channelId }),
    ]
    for (const call of await refusals(calls)) expect(call).toEqual(notFound)
    expect((await ana.channels.list()).channels).toEqual([])
    expect((await cem.channels.list({ discover: true, q: 'Fleeting' })).channels).toEqual([])
    expect((await ana.reads.unreadCount()).count).toBe(0)
    expect((await channelEventsOf(world(), channelId)).at(-1)?.type).toBe('channel.deleted')

    const next = await create()
    expect(next.id).not.toBe(channelId)
    expect(next.cid).toBe(cid)
  })
})

describe('settings', () => {
  test("are one's own and keep what is left out", async () => {
    const [ana, ben] = await world().users('ana', 'ben')
    const { id: channelId } = await ana.channels.create({
      type: 'group',
      name: 'Noisy',
      memberIds: ['ben'],
    })
    expect(await ben.channels.updateSettings({ channelId, muted: true })).toEqual({
      success: true,
      starred: false,
      muted: true,
    })
    expect(await ben.channels.updateSettings({ channelId, starred: true })).toEqual({
      success: true,
      starred: true,
      muted: true,
    })
    expect(await ben.channels.updateSettings({ channelId })).toEqual({
      success: true,
      starred: true,
      muted: true,
    })
    expect(await ben.channels.get({ channelId })).toMatchObject({ starred: true, muted: true })
    expect(await ana.channels.get({ channelId })).toMatchObject({ starred: false, muted: false })
    const told = (await userEventsOf(world(), 'ben')).filter(
      ({ type }) => type === 'channel.settings_changed',
    )
    expect(told.map(({ payload }) => payload)).toEqual([
      { channelId, starred: false, muted: true },
      { channelId, starred: true, muted: true },
    ])
  })

  test('are for members, and true or false', async () => {
    const [ana, ben] = await world().users('ana', 'ben')
    const { id: channelId } = await ana.channels.create({ type: 'public', name: 'Open' })
    expect(await refusal(ben.channels.updateSettings({ channelId, muted: true }))).toEqual(
      forbidden,
    )
    expect(
      await refusal(ana.channels.updateSettings({ channelId: unknownId, muted: true })),
    ).toEqual(notFound)
    for (const muted of ['true', 1, null])
      expect(
        (await rest(world(), ana)('PATCH', `/api/channels/${channelId}/settings`, { muted }))
          .status,
      ).toBe(400)
  })
})
