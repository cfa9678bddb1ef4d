import type { TokenResult } from '@parley/client'

/** Whose page it is, and of which server: as the address says. */
export type Settings = { userId: string; url: string }

export function settingsOf(address: string): Settings {
  const { searchParams } = new URL(address)
  return { userId: searchParams.get('user') ?? '', url: searchParams.get('server') ?? '' }
}

/** What the app's own backend answers. */
export async function fetchToken(userId: string): Promise<TokenResult> {
  const response = await fetch(`/chat-token?user=${userId}`, { method: 'POST' })
  return await response.json()
}
