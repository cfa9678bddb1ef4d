import type { TokenResult } from '@parley/client'

/** The user and the server of the page, as its address says. */
export type Settings = { userId: string; url: string }

export function settingsOf(address: string): Settings {
  const { searchParams } = new URL(address)
  return { userId: searchParams.get('user') ?? '', url: searchParams.get('server') ?? '' }
}

/** Fetches a token from the app's own backend. */
export async function fetchToken(userId: string): Promise<TokenResult> {
  const response = await fetch(`/chat-token?user=${userId}`, { method: 'POST' })
  return await response.json()
}
