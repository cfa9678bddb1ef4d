import type { ProviderPreferences } from '../../core/context.ts'
import { createProvider } from './provider.ts'
import type { PushSettings } from './settings.ts'

const none: ProviderPreferences = { channels: [], workflows: [] }

/** How many users' preferences are read at once: all apps share what the provider allows. */
const AT_ONCE = 20

/**
 * Reads a user's preferences at the provider. They are empty without a provider, or if it fails or
 * has enough to answer. Calls for the same user share a read that is under way.
 */
export function createProviderPreferences(push: PushSettings | undefined) {
  if (!push) return async () => none
  const { getPreferences } = createProvider(push)
  const pending = new Map<string, Promise<ProviderPreferences>>()
  const begin = (userId: string) => {
    const read = getPreferences(userId)
      .catch(() => none)
      .finally(() => pending.delete(userId))
    pending.set(userId, read)
    return read
  }
  return async (userId: string) => {
    const known = pending.get(userId)
    if (known) return known
    return pending.size < AT_ONCE ? begin(userId) : none
  }
}
