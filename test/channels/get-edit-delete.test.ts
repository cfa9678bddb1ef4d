import { describe, expect, test } from 'vitest'
import { channelEventsOf, userEventsOf } from '../support/events.ts'
import { unknownId } from '../support/ids.ts'
import { insertWorkspace } from '../support/inserted.ts'
import { complaint, forbidden, notFound, refusal, refusals } from '../support/refusal.ts'
import { rest } from '../support/rest.ts'
import { useSharedWorld } from '../support/world.ts'
import { otherAppIn } from './fixture.ts'

const world = useSharedWorld()
const otherApp = otherAppIn(world)

describe('getting a channel', () => {
  test('a channel shows its members in the order in which they joined', async () => {
    const [abe, zed] = await world().users('order-abe', 'order-zed')
    const { id: channelId } = await zed.channels.create({ type: 'group', name: 'Order' })
    await zed.members.add({ channelId, userIds: [abe.id] })
    const { members } = await abe.channels.get({ channelId })
    expect(members?.map(({ userId }) => userId)).toEqual([zed.id, abe.id])
  })

  test('a channel is shown to its members, and an open one to everyone', async () => {
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

  test('a team channel of a workspace is shown to the members of the workspace', async () => {
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

  test('a channel of another app is answered like an unknown one', async () => {
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

describe('editing a channel', () => {
  test('owners and moderators edit a channel; null clears and absent keeps', async () => {
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
    for (const change of [{ image: 'https://example.com/b.png' }, { description: 'Now' }]) {
      await ana.channels.update({ channelId, ...change })
      expect(await ben.channels.get({ channelId })).toMatchObject(change)
    }
  })

  test('invalid edits and edits of an unknown channel are refused', async () => {
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

  test('a channel edit that changes nothing emits no event', async () => {
    const ana = await world().user('ana')
    const channel = await ana.channels.create({ type: 'group', name: 'Same' })
    expect(await ana.channels.update({ channelId: channel.id, name: 'Same', image: null })).toEqual(
      channel,
    )
    expect(await ana.channels.update({ channelId: channel.id })).toEqual(channel)
    expect(await channelEventsOf(world(), channel.id)).toHaveLength(1)
  })
})

describe('deleting a channel', () => {
  test('only the owner deletes a channel, and every later call on it is not found', async () => {
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
    const calls = [
      ana.channels.get({ channelId }),
      ana.channels.update({ channelId, name: 'Back' }),
      ana.channels.delete({ channelId }),
      ana.channels.updateSettings({ channelId, muted: true }),
      ana.members.list({ channelId }),
      ana.members.add({ channelId, userIds: ['gone-cem'] }),
      cem.members.join({ channelId }),
      ben.members.leave({ channelId }),
      ana.members.remove({ channelId, userId: 'gone-ben' }),
      ana.members.update({ channelId, userId: 'gone-ben', role: 'member' }),
      ana.messages.list({ channelId }),
      ana.messages.get(ref),
      ana.messages.replies(ref),
      ben.messages.send({ channelId, text: 'hi', clientId: 'm' }),
      ben.messages.edit({ ...ref, text: 'x' }),
      ben.messages.delete(ref),
      world().backend.messages.delete(ref),
      ana.reactions.add({ ...ref, emoji: '👍' }),
      ana.reactions.remove({ ...ref, emoji: '👍' }),
      ana.pins.pin(ref),
      ana.pins.unpin(ref),
      ana.pins.list({ channelId }),
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

describe('channel settings', () => {
  test('settings belong to one user and keep fields that are left out', async () => {
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
    const back = { starred: true, muted: false }
    expect(await ben.channels.updateSettings({ channelId, muted: false })).toMatchObject(back)
    expect(await ben.channels.get({ channelId })).toMatchObject(back)
    const emitted = (await userEventsOf(world(), 'ben')).filter(
      ({ type }) => type === 'channel.settings_changed',
    )
    expect(emitted.map(({ payload }) => payload)).toEqual([
      { channelId, starred: false, muted: true },
      { channelId, starred: true, muted: true },
      { channelId, ...back },
    ])
  })

  test('settings are changed by members only, and are true or false', async () => {
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
