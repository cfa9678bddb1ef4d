import type { Db } from '../../db/client.ts'
import type { PushSettings } from '../../env.ts'
import type { Handlers } from '../work.ts'

export function createPushes(_: { db: Db; push: PushSettings | undefined }): Omit<Handlers, 'preview'> {
  const nothing = async () => {}
  return { 'push-message': nothing, 'push-reaction': nothing, 'push-invite': nothing, 'push-event': nothing, subscriber: nothing, device: nothing }
}
