import type { Connection } from './connection.ts'
import type { Emitter } from './events.ts'
import type { Outbox } from './outbox.ts'
import type { Topics } from './topics.ts'
import type { TokenResult, UserApi, UserSummary } from './types.ts'

/** What the parts of a client share. */
export type ClientContext = {
  api: UserApi
  connection: Connection
  events: Emitter
  outbox: Outbox
  topics: Topics
  /** Who is connected; undefined before the first token. */
  session: () => TokenResult | undefined
  /** Takes what fails in the background. */
  report: (error: unknown) => void
}

/** The user as others see him; undefined before the first token. */
export function whoAmI({ session }: Pick<ClientContext, 'session'>): UserSummary | undefined {
  const user = session()?.user
  return user && { id: user.id, name: user.name, image: user.image }
}
