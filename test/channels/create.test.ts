import { ChannelType } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { channelEventsOf } from '../support/events.ts'
import { unknownId } from '../support/ids.ts'
import { insertUsers, insertWorkspace } from '../support/inserted.ts'
import { withoutCleanup } from '../support/locks.ts'
import { complaint, forbidden, invalid, refusal } from '../support/refusal.ts'
import { rest } from '../support/rest.ts'
import { useSharedWorld } from '../support/world.ts'
import { otherAppIn } from './fixture.ts'

const world = useSharedWorld()
const otherApp = otherAppIn(world)

describe('creating a channel', () => {
  test.each(ChannelType.options.filter((type) => type !== 'messaging'))(
    'a channel of type %s is owned by its creator',
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
      expect(body).toMatchObject({
        cid: `${type}:new-${type}`,
        name: `New ${type}`,
        type,
        description: 'About',
        image: 'https://example.com/c.png',
        workspaceId: null,
        createdBy: 'ana',
        memberCount: 2,
        unreadCount: 0,
        lastMessage: null,
        lastReadSeq: 0,
        role: 'owner',
        starred: false,
        muted: false,
        rev: 2,
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

  test.each(ChannelType.options.filter((type) => type !== 'messaging'))(
    'a channel of type %s needs a name, and an image with an address for browsers',
    async (type) => {
      const ana = await world().user('ana')
      expect(await complaint(ana.channels.create({ type }))).toBe('name: expected a name')
      for (const image of ['javascript:alert(1)', 'data:image/png;base64,AA', 'c.png'])
        expect(await refusal(ana.channels.create({ type, name: 'Shown', image }))).toEqual(invalid)
    },
  )

  test('optional fields left out of a new channel are null', async () => {
    const ana = await world().user('ana')
    expect(await ana.channels.create({ type: 'group', name: 'Bare' })).toMatchObject({
      description: null,
      image: null,
      workspaceId: null,
      memberCount: 1,
    })
  })

  test('every channel type except messaging requires a name of 1 to 255 characters', async () => {
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

  test('an unknown channel type is refused', async () => {
    const ana = await world().user('ana')
    for (const type of ['broadcast', 'GROUP', '', null]) {
      expect(
        (await rest(world(), ana)('POST', '/api/channels', { type, name: 'Odd' })).status,
      ).toBe(400)
    }
  })

  test('the cid is the type and a slug of the name, with a suffix when it is taken', async () => {
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

  test('twenty channels created at once with one name get twenty different cids', async () => {
    const ana = await world().user('ana')
    const made = await Promise.all(
      Array.from({ length: 20 }, () => ana.channels.create({ type: 'group', name: 'Duplicate' })),
    )
    expect(new Set(made.map(({ cid }) => cid)).size).toBe(20)
  })

  test('creating a channel with a client id is idempotent, also twenty times at once', async () => {
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

  test('the client id of a deleted channel is free at once, before it is purged', async () => {
    const ana = await world().user('free-ana')
    const create = () => ana.channels.create({ type: 'group', name: 'Again', clientId: 'again' })
    await withoutCleanup(world(), async () => {
      const first = await create()
      await ana.channels.delete({ channelId: first.id })
      expect((await create()).id).not.toBe(first.id)
    })
  })

  test('a repeated create shows nothing of the channel to a creator who has left it', async () => {
    const [ana, ben] = await world().users('ana', 'ben')
    const create = () =>
      ana.channels.create({ type: 'private', name: 'Left', clientId: 'left', memberIds: ['ben'] })
    const { id: channelId } = await create()
    await ana.members.leave({ channelId })
    await ben.messages.send({ channelId, text: 'secret' })
    expect(await refusal(create())).toEqual(forbidden)
  })

  test('the error lists unknown members, and no channel is created', async () => {
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

  test("repeated member ids and the creator's own id add no member twice", async () => {
    const [ana] = await world().users('ana', 'ben')
    const channel = await ana.channels.create({
      type: 'group',
      name: 'Twice',
      memberIds: ['ben', 'ana', 'ben'],
    })
    expect(channel).toMatchObject({ memberCount: 2, role: 'owner', rev: 2 })
  })

  test('a channel is created with at most 1,000 members, of whom 100 are shown', async () => {
    const ana = await world().user('ana')
    const memberIds = await insertUsers(world(), 'extra', 1_001)
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

  test('only members of a workspace create channels in it', async () => {
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
