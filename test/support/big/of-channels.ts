import { limits } from '@parley/contract'
import { type Big, type Operations, PART, WALKED } from './operation.ts'

/** Channels, their members, and workspaces. */
export async function ofChannels(big: Big): Promise<Operations> {
  const { ana, ben, busy, backend, large, tombstones, counts, unique, next } = big
  const inLarge = { channelId: large }
  const ownChannels = { of: "the user's channels", count: counts.channelsOfBusy }
  const { id: openId } = await ben.channels.create({ type: 'public', name: 'Open' })
  const { nextCursor } = await backend.members.list({ ...inLarge, offset: counts.members / 2 })
  return {
    'channels.get': { returned: 100, run: () => ana.channels.get(inLarge) },
    'channels.get, behind tombstones': {
      returned: 2,
      beside: 3 * PART,
      run: () => ana.channels.get({ channelId: tombstones }),
    },
    'channels.list': { returned: 2, beside: 3 * PART, run: () => ana.channels.list({}) },
    'channels.list of busy': {
      returned: 50,
      grows: ownChannels,
      run: () => busy.channels.list({ limit: 50 }),
    },
    'channels.list of the backend': {
      returned: 50,
      run: () => backend.channels.list({ limit: 50 }),
    },
    'channels.list, discover': {
      returned: 20,
      run: () => ben.channels.list({ discover: true, limit: 20 }),
    },
    'channels.list, discover, with those of a workspace': {
      returned: 20,
      grows: { of: 'its channels, in no order of an index', count: counts.channelsOfBusy },
      run: () => ana.channels.list({ discover: true, limit: 20 }),
    },
    'channels.list, discover, rare q': {
      returned: 1,
      beside: 2 * WALKED,
      run: () => ben.channels.list({ discover: true, q: 'zzz', limit: 20 }),
    },
    'channels.create': {
      returned: 1,
      run: () => ana.channels.create({ type: 'group', name: unique() }),
    },
    'channels.update': {
      returned: 100,
      run: () => ana.channels.update({ ...inLarge, name: unique() }),
    },
    'channels.updateSettings': {
      returned: 1,
      run: () => ana.channels.updateSettings({ ...inLarge, starred: next() % 2 === 0 }),
    },
    'members.list': { returned: 50, run: () => ana.members.list({ ...inLarge, limit: 50 }) },
    'members.list, cursor': {
      returned: 50,
      run: () => ana.members.list({ ...inLarge, limit: 50, cursor: nextCursor ?? '' }),
    },
    'members.add and members.remove': {
      returned: 2,
      run: async () => {
        await ana.members.add({ ...inLarge, userIds: ['busy'] })
        await ana.members.remove({ ...inLarge, userId: 'busy' })
      },
    },
    'members.update': {
      returned: 1,
      run: () =>
        ana.members.update({
          ...inLarge,
          userId: 'user-3',
          role: next() % 2 === 0 ? 'moderator' : 'member',
        }),
    },
    'members.join and members.leave': {
      returned: 2,
      run: async () => {
        await ana.members.join({ channelId: openId })
        await ana.members.leave({ channelId: openId })
      },
    },
    'typing.set': { returned: 1, run: () => ana.typing.set({ ...inLarge, typing: true }) },
    'reads.unreadCount': {
      returned: 2,
      beside: 3 * PART,
      run: () => ben.reads.unreadCount(),
    },
    'reads.unreadCount of busy': {
      returned: 1,
      grows: ownChannels,
      run: () => busy.reads.unreadCount(),
    },
    ...(await ofWorkspaces(big)),
  }
}

async function ofWorkspaces({ ana, ben, busy, team, counts }: Big): Promise<Operations> {
  const inTeam = { workspaceId: team }
  const { token } = await ana.invites.create(inTeam)
  const deep = { limit: 50, offset: counts.members / 2 }
  const { nextCursor: afterMembers } = await ana.workspaces.members({ ...inTeam, ...deep })
  const cursor = afterMembers ?? ''
  const inWorkspace = { of: 'the members, in no order of an index', count: counts.members }
  const counted = Math.min(counts.members, limits.workspaceCounted.each)
  const ofCounts = {
    of: 'the members and channels, up to the most that are counted',
    count: counted,
  }
  return {
    'workspaces.list': {
      returned: 1,
      grows: ofCounts,
      run: () => ana.workspaces.list({}),
    },
    'workspaces.list of busy': {
      returned: 50,
      grows: { of: "the user's workspaces", count: counts.channelsOfBusy },
      run: () => busy.workspaces.list({ limit: 50 }),
    },
    'workspaces.create': {
      returned: 1,
      run: () => ben.workspaces.create({ name: 'Team', type: 'team' }),
    },
    'workspaces.members': {
      returned: 50,
      grows: inWorkspace,
      run: () => ana.workspaces.members({ ...inTeam, limit: 50 }),
    },
    'workspaces.members, cursor': {
      returned: 50,
      grows: inWorkspace,
      run: () => ana.workspaces.members({ ...inTeam, limit: 50, cursor }),
    },
    'invites.list': {
      returned: 50,
      run: () => ana.invites.list({ ...inTeam, limit: 50 }),
    },
    'invites.create and invites.revoke': {
      returned: 2,
      run: async () => {
        const { id: inviteId } = await ana.invites.create(inTeam)
        await ana.invites.revoke({ ...inTeam, inviteId })
      },
    },
    'invites.accept and workspaces.removeMember': {
      returned: 2,
      grows: ofCounts,
      run: async () => {
        await ben.invites.accept({ token })
        await ana.workspaces.removeMember({ ...inTeam, userId: 'ben' })
      },
    },
  }
}
