import { type Break, receivedLast, subscription } from './breaks.ts'
import type { FoundMessage, History, ReceivedEvent, Stream } from './history.ts'
import { ephemeral } from './received.ts'
import type { Violation } from './violations.ts'

const WRITTEN = 'Hello world'
const QUIET_MS = 30_000

/** The stream, its message at a node, and what a watcher received of it. */
type Scene = { stream: Stream; message: FoundMessage; received: ReceivedEvent[]; history: History }

/**
 * A bot wrote the beginning of a text and died, and its message was interrupted. Then this change
 * was made.
 */
export const streamed =
  (change: (scene: Scene) => unknown = () => {}): Break =>
  (history) => {
    const { channels, events, listings } = history.found
    const [channel] = channels
    const [like] = listings[0]?.messages ?? []
    if (!channel || !like) return
    const text = WRITTEN.slice(0, 5)
    const stream: Stream = {
      clientId: 'stream-0',
      channelId: channel.id,
      userId: 'bot',
      text: WRITTEN,
      stored: text.length,
      storedAt: 100,
      hasEnded: false,
      quietAt: 150,
    }
    const message: FoundMessage = {
      ...like,
      ...{ id: 'id-4', clientId: stream.clientId, userId: 'bot', text, seq: 4, rev: 4 },
      ...{ createdAt: '2026-01-01T00:00:00.004Z', isInterrupted: true, replyCount: 0 },
    }
    const place = { topic: channel.topic, offset: 4, messageId: message.id }
    const received: ReceivedEvent[] = [
      { ...growing(100, { at: undefined, text: '', hasEnded: false }), offset: 4 },
      growing(110, { at: 0, text: 'Hel', hasEnded: false }),
      growing(120, { at: 3, text: 'lo', hasEnded: false }),
      growing(QUIET_MS + 200, { at: undefined, text, hasEnded: true }),
    ]
    history.streams.push(stream)
    Object.assign(channel, { lastSeq: 4, rev: 4 })
    events.push({ ...place, type: 'message.new', authorId: 'bot', isFrozen: undefined })
    history.hooked.push({ ...deliveryOf(4), channelId: channel.id })
    for (const listing of listings) listing.messages.push({ ...message })
    const watching = history.subscriptions.filter(({ topic }) => topic === channel.topic)
    for (const one of watching) one.received.push(...structuredClone(received))
    history.pushes.push('id-4:ana:new-message', 'id-4:ben:new-message')
    change({
      stream,
      message: listings[0]?.messages.at(-1) ?? message,
      received: watching[0]?.received.slice(-received.length) ?? received,
      history,
    })
  }

const growing = (
  time: number,
  growth: Omit<NonNullable<ReceivedEvent['growth']>, 'time'>,
): ReceivedEvent => ({
  ...ephemeral('message.delta', { messageId: 'id-4' }),
  growth: { ...growth, time },
})
const deliveryOf = (rev: number) => ({
  id: `delivery-${rev}`,
  type: 'message.new',
  channelId: 'talk',
  userId: undefined,
  rev,
})
const grown = (
  received: ReceivedEvent[],
  place: number,
  change: Partial<ReceivedEvent['growth']>,
) => Object.assign(received[place]?.growth ?? {}, change)

/** The violations of bots, imports, webhooks and Redis that each check must detect. */
export const backendViolations: Violation[] = [
  [
    'a streamed text that lost what was stored',
    ['sameEverywhere', 'streamsKept', 'streamsSpliced'],
    streamed(({ message }) => Object.assign(message, { text: 'Hell' })),
  ],
  [
    'a streamed text that is not what was written',
    ['sameEverywhere', 'streamsKept', 'streamsSpliced'],
    streamed(({ message }) => Object.assign(message, { text: 'HelloHello' })),
  ],
  [
    'a message that grows for ever',
    ['sameEverywhere', 'streamsKept'],
    streamed(({ message }) => Object.assign(message, { isStreaming: true })),
  ],
  [
    'a message that was finished and is not whole',
    ['streamsKept'],
    streamed(({ stream }) => Object.assign(stream, { hasEnded: true })),
  ],
  [
    'a message that was not finished and not interrupted',
    ['sameEverywhere', 'streamsKept'],
    streamed(({ message }) => Object.assign(message, { isInterrupted: false })),
  ],
  [
    'a watcher who saw a part twice',
    ['streamsSpliced'],
    streamed(({ received }) => grown(received, 2, { text: 'lolo' })),
  ],
  [
    'a watcher who has another text in the end',
    ['streamsSpliced'],
    streamed(({ received }) => grown(received, 3, { text: 'Hello w' })),
  ],
  [
    'a message that was interrupted too soon',
    ['streamsInterruptedInTime'],
    streamed(({ received }) => grown(received, 3, { time: QUIET_MS - 1_000 })),
  ],
  [
    'a message that was interrupted too late',
    ['streamsInterruptedInTime'],
    streamed(({ received }) => grown(received, 3, { time: QUIET_MS + 15_200 })),
  ],
  [
    'a streamed message without its push',
    ['streamsPushed'],
    streamed(({ history }) => history.pushes.pop()),
  ],
  ['a webhook that got nothing', ['hookedAsStored'], ({ hooked }) => hooked.splice(0)],
  [
    'an event that the webhook was never sent',
    ['hookedAsStored'],
    ({ hooked }) => hooked.splice(1, 1),
  ],
  [
    'a delivery of what is not stored',
    ['hookedAsStored'],
    ({ hooked }) => hooked.push(deliveryOf(4)),
  ],
  [
    'a delivery of another event than stored',
    ['hookedAsStored'],
    ({ hooked: [first] }) => Object.assign(first ?? {}, { type: 'message.updated' }),
  ],
  [
    'two deliveries of one event that a receiver cannot tell',
    ['hookedAsStored'],
    ({ hooked }) => hooked.push({ ...deliveryOf(1), id: 'delivery-9' }),
  ],
  [
    'an imported message that is there twice',
    ['importedOnce'],
    imported(({ found }) => found.imported[0]?.texts.push('one')),
  ],
  [
    'imported messages in another order',
    ['importedOnce'],
    imported(({ found }) => found.imported[0]?.texts.reverse()),
  ],
  [
    'an import that was complete and brings more',
    ['importedOnce'],
    imported(({ imports: [one] }) => Object.assign(one ?? {}, { importedAgain: 1 })),
  ],
  [
    'an import that refused what is right',
    ['importedOnce'],
    imported(({ imports: [one] }) => Object.assign(one ?? {}, { refused: 1 })),
  ],
  ['a wrong counter', ['countersExact'], ({ found: { wrongRows } }) => (wrongRows.channels = 1)],
  [
    'a node that does not find Redis again',
    ['redisBack'],
    ({ found: { redis } }) => Object.assign(redis[1] ?? {}, { state: 'unreachable' }),
  ],
  [
    'a user who types for ever',
    ['typingEnded'],
    subscription(0, receivedLast(ephemeral('typing.start', { userId: 'ben' }))),
  ],
]

/** Two messages were imported into a channel of their own. Then this change was made. */
function imported(change: Break): Break {
  return (history) => {
    const texts = ['one', 'two']
    const channels = [{ channelId: 'old', texts }]
    history.imports.push({ channels, attempts: 2, refused: 0, importedAgain: 0 })
    history.found.imported.push({ channelId: 'old', texts: [...texts] })
    change(history)
  }
}
