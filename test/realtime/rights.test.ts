import { topics } from '@parley/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withoutCleanup } from '../support/locks.ts'
import { RawSocket, useSockets } from '../support/socket.ts'
import { connectRaw } from '../support/stream.ts'
import { createWorld, type User, useWorld, type World } from '../support/world.ts'

// Reconciliation with the database is off: what arrives was sent at once. Bare sockets answer no
// pings.
const timings = { reconcileMs: 1_000_000, pingMs: 1_000_000 }
const world = useWorld({ timings })
let other: World
beforeAll(async () => {
  other = await createWorld({ timings, databaseUrl: world().databaseUrl })
})
afterAll(() => other.stop())
const terminatedLater = useSockets()
/** Sockets of a user on both nodes. */
const socketsOf = (user: User) =>
  Promise.all([world(), other].map((node) => terminatedLater(connectRaw(node, user))))
const chat = (channelId: string) => topics.channel(world().appId, channelId)

describe('voiding the tokens of a user, on every node', () => {
  const endings: [string, (userId: string) => Promise<unknown>][] = [
    ['revocation', (userId) => world().backend.tokens.revoke({ userId })],
    ['deletion', (userId) => world().backend.users.delete({ userId })],
    [
      'bulk-deletion',
      (userId) => world().backend.users.bulkDelete({ userIds: [userId, 'nobody'] }),
    ],
  ]
  test.each(endings)('%s closes the sockets of the user, and of no other', async (name, end) => {
    const [ben, cem] = await world().users(`ben-${name}`, `cem-${name}`)
    const [bens, cems] = [await socketsOf(ben), await socketsOf(cem)]
    await end(ben.id)
    expect(await Promise.all(bens.map(({ closed }) => closed))).toMatchObject([
      { code: 3503 },
      { code: 3503 },
    ])
    for (const raw of cems)
      expect(
        (await raw.ask({ id: 2, subscribe: { channel: topics.user(world().appId, cem.id) } }))
          .subscribe,
      ).toBeDefined()
    const late = await RawSocket.open(other)
    late.send({ id: 1, connect: { token: ben.minted.wsToken } })
    expect((await late.closed).code).toBe(3500)
  })
})

test('a deleted channel cannot be subscribed to, even before its rows are purged', async () => {
  const ana = await world().user('ana-deletes')
  const { id: channelId } = await ana.channels.create({ type: 'public', name: 'Gone' })
  const sockets = await socketsOf(ana)
  await withoutCleanup(world(), async () => {
    await ana.channels.delete({ channelId })
    for (const raw of sockets) {
      const answer = await raw.ask({ id: 2, subscribe: { channel: chat(channelId) } })
      expect(answer.error.code).toBe(103)
    }
  })
})

describe('a user removed from a workspace', () => {
  const team = async (name: string) => {
    const [ana, ben] = await world().users(`ana-${name}`, `ben-${name}`)
    const { id: workspaceId } = await ana.workspaces.create({ name: 'Acme', type: 'team' })
    await ben.invites.accept({ token: (await ana.invites.create({ workspaceId })).token })
    const channelOf = async (...memberIds: string[]) =>
      (await ana.channels.create({ type: 'team', name: 'Team', workspaceId, memberIds })).id
    return { ana, ben, workspaceId, open: await channelOf(), own: await channelOf(ben.id) }
  }

  test('a user removed from a workspace receives only channels they are in', async () => {
    const { ana, ben, workspaceId, open, own } = await team('removed')
    const sockets = await socketsOf(ben)
    for (const raw of sockets) {
      for (const [index, channelId] of [open, own].entries()) {
        const subscribe = { channel: chat(channelId) }
        expect((await raw.ask({ id: index + 2, subscribe })).subscribe).toBeDefined()
      }
    }
    await ana.workspaces.removeMember({ workspaceId, userId: ben.id })
    for (const raw of sockets)
      await raw.pushed(
        ({ channel, unsubscribe }) => channel === chat(open) && unsubscribe?.code === 2000,
      )
    await ana.messages.send({ channelId: open, text: 'among us' })
    await ana.messages.send({ channelId: own, text: 'with ben' })
    for (const raw of sockets) {
      await raw.pushed(
        ({ channel, pub }) =>
          channel === chat(own) && pub?.data.payload.message?.text === 'with ben',
      )
      expect(raw.frames.join()).not.toContain('among us')
      expect((await raw.ask({ id: 4, subscribe: { channel: chat(open) } })).error.code).toBe(103)
    }
  })

  test('a subscribe concurrent with the removal does not outlast it', async () => {
    const { ana, ben, workspaceId, open } = await team('crossing')
    const [raw] = await socketsOf(ben)
    for (let round = 0; round < 12; round++) {
      const id = 2 + round * 2
      const removal = ana.workspaces.removeMember({ workspaceId, userId: ben.id })
      // The subscribe comes at some point from before the removal to after it.
      for (let turn = 0; turn < round * 2; turn++) await new Promise(setImmediate)
      const reply = await raw?.ask({ id, subscribe: { channel: chat(open) } })
      await removal
      if (reply?.subscribe)
        await raw?.until(
          () => raw.messages.filter(({ push }) => push?.unsubscribe?.code === 2000).length > ended,
        )
      if (reply?.subscribe) ended++
      await ana.messages.send({ channelId: open, text: 'among us' })
      expect((await raw?.ask({ id: id + 1, history: { channel: chat(open) } }))?.error.code).toBe(
        103,
      )
      await ben.invites.accept({ token: (await ana.invites.create({ workspaceId })).token })
    }
    expect(raw?.frames.join()).not.toContain('among us')
  })
  let ended = 0
})

test('a refresh with a token of a revoked generation closes with 3500', async () => {
  const ben = await world().user('ben-refreshing')
  const raw = await terminatedLater(connectRaw(world(), ben))
  const { wsToken } = await world().backend.tokens.create({ userId: ben.id })
  expect((await raw.ask({ id: 2, refresh: { token: wsToken } })).refresh).toBeDefined()
  // A revocation without its note: this node does not know of it.
  await world().db`
    update users
    set token_generation = token_generation + 1
    where app_id = ${world().appId} and id = ${ben.id}`
  raw.send({ id: 3, refresh: { token: wsToken } })
  expect(await raw.closed).toEqual({ code: 3500, reason: 'invalid token' })
})
