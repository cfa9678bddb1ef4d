import type { User, World } from '../support/world.ts'

/** Makes a channel of ana's with ben as moderator and cem as member; dora is outside. */
export const staffedChannelIn =
  (world: () => World) => async (type: 'group' | 'team' | 'livestream' | 'public' | 'private') => {
    const [ana, ben, cem, dora] = await world().users('ana', 'ben', 'cem', 'dora')
    const { id: channelId } = await ana.channels.create({
      type,
      name: 'Staffed',
      memberIds: ['ben'],
    })
    await ana.members.add({ channelId, userIds: ['cem'] })
    await ana.members.update({ channelId, userId: 'ben', role: 'moderator' })
    return { channelId, ana, ben, cem, dora }
  }

/** The members of a channel as `<id> <role>`, in the order they joined. */
export const rolesIn = async (reader: User, channelId: string) =>
  (await reader.members.list({ channelId })).members.map(({ userId, role }) => `${userId} ${role}`)
