/** One push to one user, as the provider is told of it. The same `transactionId` is delivered once. */
export type PushEvent = { name: string; to: string; payload: Record<string, string>; transactionId: string }
