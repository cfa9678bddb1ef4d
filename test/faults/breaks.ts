import type {
  Call,
  Fault,
  FoundEvent,
  FoundMessage,
  History,
  ReceivedEvent,
  SentMessage,
  Subscription,
} from './history.ts'

/** Changes a history, so that a check sees a violation in it. */
export type Break = (history: History) => void

/** Changes the message at a place in the list of the first node, or of all nodes. */
export const found =
  (place: number, change: Partial<FoundMessage>, nodes = [0, 1]): Break =>
  ({ found: { listings } }) => {
    for (const { node, messages } of listings)
      if (nodes.includes(node)) Object.assign(messages[place] ?? {}, change)
  }

/** Changes what is known of the message that was sent at a place. */
export const sent =
  (place: number, change: Partial<SentMessage>): Break =>
  ({ messages }) => {
    Object.assign(messages[place] ?? {}, change)
  }

/** Changes the list of each node. */
export const listed =
  (change: (messages: FoundMessage[]) => unknown): Break =>
  ({ found: { listings } }) => {
    for (const { messages } of listings) change(messages)
  }

/** Changes the first call, and the faults that were made. */
export const call =
  (change: Partial<Call>, faults: Partial<Fault>[] = []): Break =>
  (history) => {
    Object.assign(history.calls[0] ?? {}, change)
    history.faults = faults.map((fault) => ({
      ...{ name: 'kill -9', node: 0, from: 0, to: 1_000, breaksAnswers: true },
      ...fault,
    }))
  }

/** Adds a time that it took until counts and presence were right. */
export const converged =
  (milliseconds: number): Break =>
  ({ convergenceMs }) => {
    convergenceMs.push(milliseconds)
  }

/** Changes the subscription at a place. */
export const subscription =
  (place: number, change: (one: Subscription) => unknown): Break =>
  ({ subscriptions }) => {
    const one = subscriptions[place]
    if (one) change(one)
  }

/** Changes the row of the channel. */
export const channel =
  (change: object): Break =>
  ({ found: { channels } }) => {
    Object.assign(channels[0] ?? {}, change)
  }

/** Changes the event at a place, as it is stored and delivered. */
export const event =
  (place: number, change: Partial<FoundEvent>): Break =>
  ({ found: { events }, hooked }) => {
    const { type } = Object.assign(events[place] ?? { type: '' }, change)
    Object.assign(hooked[place] ?? {}, { type })
  }

/** ben's message is a tombstone, with this text. */
export const deleted =
  (text: string): Break =>
  (history) => {
    sent(2, { isDeleted: true })(history)
    found(2, { isDeleted: true, text })(history)
  }

/** The answer to the first message, with this seq. */
export const acknowledged = (seq: number): Partial<SentMessage> => ({
  acknowledged: [{ id: 'id-1', seq, createdAt: '2026-01-01T00:00:00.001Z' }],
})

/** Removes what the subscription received from this place on. */
export const receivedUpTo =
  (place: number) =>
  ({ received }: Subscription) =>
    received.splice(place, 1)

/** Adds this as the last event that the subscription received. */
export const receivedLast =
  (event: ReceivedEvent) =>
  ({ received }: Subscription) =>
    received.push(event)
