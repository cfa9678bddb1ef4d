import type { OutboxStorage } from '../backing-store/storage.ts'
import type { Gate } from '../calls/retry.ts'
import type { Message } from '../generated/types.ts'
import type { Connection } from '../realtime/connection.ts'
import type { OutboxApi } from './perform.ts'
import type { OutboxStep } from './steps.ts'

export type OutboxOptions = {
  api: OutboxApi
  /** The gate of all calls of the client. */
  gate: Pick<Gate, 'takeResult' | 'answers'>
  storage: OutboxStorage
  /** The socket, which shows whether the server can be reached. */
  link: Pick<Connection, 'isConnected' | 'onOffline'>
  /** The entries of a channel have changed. */
  onChanged: (channelId: string) => void
  onStep: (step: OutboxStep) => void
  onSent: (message: Message) => void
  /** False if the user has logged out in another tab; `isAssumed` if that is not known. */
  isLoggedIn: (isAssumed: boolean) => Promise<boolean>
  onError: (error: unknown) => void
}
