/** The key in `service` of how far the replay of a webhook is; without one, none has begun. */
export const replayKey = (webhookId: string) => `webhook_replay:${webhookId}`
