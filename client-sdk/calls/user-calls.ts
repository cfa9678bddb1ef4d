import type { UserApi } from '../generated/types.ts'
import { userOperations as operations } from '../generated/user-operations.ts'
import type { Tokens } from '../realtime/tokens.ts'
import { createCalls } from './calls.ts'
import { createGate } from './retry.ts'

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
  const gate = createGate()
  const calls = (tries: number) =>
    createCalls<UserApi>({ operations, url, fetch, headers, renew, tries, gate })
  return { api: calls(4), outboxApi: calls(1), gate }
}
