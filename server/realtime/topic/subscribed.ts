import type { DurablePublication } from '../publication.ts'
import type { Subscription } from './index.ts'

/** A position in a topic's history. */
type TopicPosition = { epoch: string; offset: number }
export type TopicRequest = { topic: string; recover: TopicPosition | null }
/** `release` starts live delivery; call it once the reply with these publications is on its way. */
export type Subscribed = {
  subscription: Subscription
  position: TopicPosition
  wasRecovered: boolean
  publications: DurablePublication[]
  release(): void
}

export type PendingSubscribe = {
  request: TopicRequest
  /** The offset to recover from, if it is of this epoch. */
  after: number | null
  remembered: DurablePublication[]
  /** The offset after which the log must be read: publications up to it are remembered. */
  since: number | null
  subscription: Subscription
}
