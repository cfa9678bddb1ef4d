import type { ProviderPreferences } from '../../core/context.ts'
import { createProvider } from './provider.ts'
import type { PushSettings } from './settings.ts'

const none: ProviderPreferences = { channels: [], workflows: [] }

/** Asks the provider, and makes do without an answer. */
export function createProviderPreferences(push: PushSettings | undefined) {
  if (!push) return async () => none
  const { preferencesOf } = createProvider(push)
  return (userId: string) => preferencesOf(userId).catch(() => none)
}
