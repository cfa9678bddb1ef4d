import { createCalls } from './calls.ts'
import { createNetworkGate, createRateGate } from './retry.ts'
import type { Tokens } from './tokens.ts'
import type { UserApi } from './types.ts'
import { userOperations as operations } from './user-operations.ts'

type UserCallsOptions = {
  url: string
  fetch: typeof fetch | undefined
  tokens: Tokens
}

/** The calls of a user, with their tokens. Those of the outbox are not retried: it does that. */
export function createUserCalls({ url, fetch, tokens }: UserCallsOptions) {
  if (!/^https?:\/\/./.test(url)) throw new Error(`the url does not begin with http(s): ${url}`)
  const headers = async () => ({ authorization: `Bearer ${(await tokens.get()).token}` })
  const renew = (sent: Record<string, string>) =>
    tokens.renew({ token: sent.authorization?.slice('Bearer '.length) })
  const gate = createRateGate()
  const network = createNetworkGate()
  const calls = (attempts: number) =>
    createCalls<UserApi>({ operations, url, fetch, headers, renew, attempts, gate, network })
  return { api: calls(4), ofOutbox: { api: calls(1), gate }, network }
}
