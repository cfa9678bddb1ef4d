import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { erased } from '../support/cleanup.ts'
import { exportOf } from '../support/exported.ts'
import { RawSocket } from '../support/socket.ts'
import { userColumns } from '../support/user-columns.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld()

/**
 * Each column that holds the id of a user. `id`: it stays after an erasure, as others refer to it
 * or nothing else is said of the user. `gone`: no row is left. `exported`: the kind of the items
 * that show it to the user.
 */
const places: Record<string, { erased: 'gone' | 'id'; exported?: string }> = {
  // The operator's own log, with an end of its own.
  'audit.user_id': { erased: 'id' },
  'channels.created_by': { erased: 'id', exported: 'membership' },
  // The open sockets.
  'connections.user_id': { erased: 'gone' },
  'devices.user_id': { erased: 'gone', exported: 'device' },
  'former_members.user_id': { erased: 'gone', exported: 'formerMembership' },
  'members.user_id': { erased: 'gone', exported: 'membership' },
  'message_streams.user_id': { erased: 'gone', exported: 'message' },
  'messages.user_id': { erased: 'id', exported: 'message' },
  'pins.pinned_by': { erased: 'id', exported: 'pin' },
  'preferences.user_id': { erased: 'gone', exported: 'preferences' },
  'reactions.user_id': { erased: 'gone', exported: 'reaction' },
  'read_marks.user_id': { erased: 'gone', exported: 'read' },
  // How many of the messages are tombstones: the export has these.
  'tombstone_counts.user_id': { erased: 'id', exported: 'message' },
  // A number for clients.
  'user_streams.user_id': { erased: 'id' },
  'users.id': { erased: 'id', exported: 'profile' },
  'workspace_invite_uses.user_id': { erased: 'gone', exported: 'inviteUse' },
  'workspace_invites.created_by': { erased: 'gone', exported: 'invite' },
  'workspace_members.user_id': { erased: 'gone', exported: 'workspace' },
  'workspaces.created_by': { erased: 'id', exported: 'workspace' },
}

/** Has a user leave a trace in every place. */
async function populate(userId: string) {
  const app = world()
  const [user, peer] = await app.users(userId, `${userId}-peer`)
  if (!user || !peer) throw new Error('expected two users')
  const memberIds = [peer.id]
  const { id: channelId } = await user.channels.create({ type: 'group', name: 'One', memberIds })
  const { id: leftId } = await user.channels.create({ type: 'group', name: 'Left', memberIds })
  await user.members.leave({ channelId: leftId })
  const sent = await user.messages.send({ channelId, text: 'gone' })
  await user.messages.delete({ channelId, messageId: sent.id })
  await user.messages.send({ channelId, text: 'grows', streaming: true })
  const theirs = await peer.messages.send({ channelId, text: 'theirs' })
  const ref = { channelId, messageId: theirs.id }
  await user.reactions.add({ ...ref, emoji: '👍' })
  await user.pins.pin(ref)
  await user.reads.mark(ref)
  await user.devices.create({ platform: 'ios', provider: 'apns', token: `of-${userId}` })
  await user.preferences.update({ mentions: false })
  const { id: workspaceId } = await user.workspaces.create({ name: 'Team', type: 'team' })
  await user.invites.create({ workspaceId })
  const other = await peer.workspaces.create({ name: 'Other', type: 'team' })
  const { token } = await peer.invites.create({ workspaceId: other.id })
  await user.invites.accept({ token })
  // Actions on other users are noted in the audit log.
  const { id: guest } = await app.user(`${userId}-guest`)
  await user.members.add({ channelId, userIds: [guest] })
  await user.members.remove({ channelId, userId: guest })
  return RawSocket.connect(app, user)
}

/** The places that have this id. */
async function placesOf(userId: string) {
  const { db, appId } = world()
  const found = await Promise.all(
    Object.keys(places).map(async (place) => {
      const [table = '', column = ''] = place.split('.')
      const rows = await db`
        select
        from ${db(table)}
        where ${db(column)} = ${userId}
          and app_id = ${appId}
        limit 1`
      return rows.length > 0 ? [place] : []
    }),
  )
  return found.flat()
}

test('every table that has the id of a user is erased, exported and documented', async () => {
  expect(await userColumns(world())).toEqual(Object.keys(places))
  const socket = await populate('everywhere')
  await expect.poll(() => placesOf('everywhere')).toEqual(Object.keys(places))
  const kinds = new Set((await exportOf(world(), 'everywhere')).map(({ kind }) => kind))
  const exported = Object.values(places).flatMap(({ exported }) => exported ?? [])
  expect.soft([...kinds].toSorted(), 'exported').toEqual([...new Set(exported)].toSorted())
  socket.socket.terminate()
  await world().backend.users.delete({ userId: 'everywhere' })
  await erased(world())
  // The row of the socket goes with its end.
  await expect.poll(() => placesOf('everywhere')).not.toContain('connections.user_id')
  const kept = Object.keys(places).filter((place) => places[place]?.erased === 'id')
  expect.soft(await placesOf('everywhere'), 'kept after the erasure').toEqual(kept)
  const document = readFileSync(new URL('../../docs/privacy.md', import.meta.url), 'utf8')
  const isNamed = (place: string) => document.includes(`\`${place.split('.')[0]}\``)
  const unnamed = Object.keys(places).filter((place) => !isNamed(place))
  expect.soft(unnamed, 'not in docs/privacy.md').toEqual([])
})
