import type { ProviderPreferences } from '../../core/context.ts'
import { createProvider } from './provider.ts'
import type { PushSettings } from './settings.ts'

const none: ProviderPreferences = { channels: [], workflows: [] }

/**
 * Reads a user's preferences at the provider. They are empty without a provider, or if it fails.
 */
export function createProviderPreferences(push: PushSettings | undefined) {
  if (!push) return async () => none
  const { getPreferences } = createProvider(push)
  return (userId: string) => getPreferences(userId).catch(() => none)
}
