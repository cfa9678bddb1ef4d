/** The topic of a channel's events. */
export const channelTopic = (appId: string, channelId: string) => `chat:${appId}:${channelId}`

/** The topic of a user's own events. */
export const userTopic = (appId: string, userId: string) => `user:${appId}:${userId}`
