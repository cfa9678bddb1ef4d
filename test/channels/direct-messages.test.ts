import { describe, expect, test, vi } from 'vitest'
import { channelEventsOf, userEventsOf } from '../support/events.ts'
import { forbidden, invalid, notFound, refusal } from '../support/refusal.ts'
import { rest } from '../support/rest.ts'
import { patient } from '../support/until.ts'
import { useSharedWorld } from '../support/world.ts'

const world = useSharedWorld()

describe('direct messages', () => {
  test('a direct message has the name and image of the other member', async () => {
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

  test('a direct message with a deleted user is found by the name that it shows', async () => {
    const [ana, ben] = await world().users('left-ana', 'left-ben')
    const { id: channelId } = await ana.channels.create({ type: 'messaging', memberIds: [ben.id] })
    await world().backend.users.delete({ userId: ben.id })
    await vi.waitFor(async () => {
      expect(await ana.channels.get({ channelId })).toMatchObject({ memberCount: 1 })
    }, patient)
    const { channels } = await ana.channels.list({ q: 'deleted' })
    expect(channels).toMatchObject([{ id: channelId, name: 'Deleted user' }])
  })

  test('both users receive a new direct message under the name of the other', async () => {
    const [ana, ben] = await world().users('new-ana', 'new-ben')
    const { id } = await ana.channels.create({ type: 'messaging', memberIds: [ben.id] })
    const added = async (user: { id: string }) =>
      (await userEventsOf(world(), user.id)).map(({ type, payload }) => ({ type, payload }))
    const expected = (name: string, role: string) => [
      { type: 'channel.added', payload: { channel: expect.objectContaining({ id, name, role }) } },
    ]
    expect(await added(ana)).toEqual(expected('new-ben', 'owner'))
    expect(await added(ben)).toEqual(expected('new-ana', 'member'))
  })

  test('a direct message with a name and an image of its own has these for both', async () => {
    const [ana, ben] = await world().users('own-ana', 'own-ben')
    const own = { name: 'Ours', image: 'https://example.com/ours.png' }
    await ana.channels.create({ type: 'messaging', memberIds: [ben.id], ...own })
    for (const user of [ana, ben]) {
      const [added] = await userEventsOf(world(), user.id)
      expect([added?.payload.channel, ...(await user.channels.list()).channels]).toMatchObject([
        own,
        own,
      ])
    }
  })

  test('a pair of users has one direct message, whoever creates it', async () => {
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

  test('a repeated create answers with the channel of its client id, not of its pair', async () => {
    const [ana] = await world().users('key-ana', 'key-ben', 'key-cem')
    const direct = (id: string, key: { clientId?: string } = {}) =>
      ana.channels.create({ type: 'messaging', memberIds: [id], ...key })
    const group = (clientId: string) => ana.channels.create({ type: 'group', name: 'G', clientId })
    // Either the direct message or the group may be there first.
    const [ofBen, early] = [await direct('key-ben'), await group('early')]
    const [late, ofCem] = [await group('late'), await direct('key-cem')]
    expect((await direct('key-ben', { clientId: 'early' })).id).toBe(early.id)
    expect((await direct('key-cem', { clientId: 'late' })).id).toBe(late.id)
    const pairs = [await direct('key-ben', { clientId: 'other' }), await direct('key-cem')]
    expect(pairs.map(({ id }) => id)).toEqual([ofBen.id, ofCem.id])
  })

  test('a pair of users has one direct message, however many create it at once', async () => {
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

  test('a direct message requires exactly one other user', async () => {
    const [ana] = await world().users('ana', 'ben', 'cem')
    for (const memberIds of [[], ['ben', 'cem'], ['ana'], ['']]) {
      expect(await refusal(ana.channels.create({ type: 'messaging', memberIds }))).toEqual(invalid)
    }
    expect(await refusal(ana.channels.create({ type: 'messaging' }))).toEqual(invalid)
    const withGhost = ana.channels.create({ type: 'messaging', memberIds: ['ghost'] })
    expect(await refusal(withGhost)).toEqual(notFound)
  })

  test('a direct message is never edited, and only its creator deletes it', async () => {
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
    const again = await ana.channels.create({ type: 'messaging', memberIds: ['free-ben'] })
    expect(again.id).toBe(next.id)
  })
})
