// Generated from the contract by scripts/generate.ts: do not edit.
// biome-ignore-all format: as generated
// biome-ignore-all lint: as generated
/** The topic of a channel's events. */
export const channelTopic = (appId: string, channelId: string) =>
  `chat:${appId}:${channelId}`

/** The topic of a user's own events. */
export const userTopic = (appId: string, userId: string) =>
  `user:${appId}:${userId}`
