/** A user, who is known by their id and their app: users of two apps may have the same id. */
export type UserRef = { appId: string; userId: string }

/** The user as a key of maps and caches. */
export const userKey = ({ appId, userId }: UserRef) => `${appId}:${userId}`

/** A user as a member of a channel. */
export type MemberRef = { channelId: string; userId: string }

/** The member as a key of maps: ids of channels have no spaces. */
export const memberKey = ({ channelId, userId }: MemberRef) => `${channelId} ${userId}`
