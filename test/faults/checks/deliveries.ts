import type { Check, ReceivedEvent, Subscription } from '../history.ts'

/** Each subscription received each offset once and in order, up to the last that is stored. */
export const offsetsWithoutGaps: Check = ({ subscriptions, found }) => {
  const last = new Map(found.events.map(({ topic, offset }) => [topic, offset]))
  return subscriptions.flatMap((subscription) => {
    const { topic, start } = subscription
    const offsets = durable(subscription).map(({ offset }) => offset)
    const odd = offsets.findIndex((offset, index) => offset !== start + index + 1)
    const end = Math.max(start, last.get(topic) ?? 0)
    if (odd >= 0)
      return [`${nameOf(subscription)}: received ${offsets[odd]} instead of ${start + odd + 1}`]
    if (start + offsets.length !== end)
      return [`${nameOf(subscription)}: received up to ${start + offsets.length} of ${end}`]
    return []
  })
}

/** No subscription lost its place or ended. */
export const nothingLost: Check = ({ subscriptions }) =>
  subscriptions.flatMap((subscription) =>
    subscription.losses.map((loss) => `${nameOf(subscription)}: ${loss}`),
  )

/** Each event received at an offset is about the same message as the stored event. */
export const receivedAsStored: Check = ({ subscriptions, found }) => {
  const stored = new Map(found.events.map((event) => [`${event.topic} ${event.offset}`, event]))
  return subscriptions.flatMap((subscription) =>
    durable(subscription).flatMap(({ offset, messageId }) => {
      const event = stored.get(`${subscription.topic} ${offset}`)
      return event && (event.messageId ?? undefined) !== messageId
        ? [`${nameOf(subscription)}: ${offset} is about ${messageId}, not ${event.messageId}`]
        : []
    }),
  )
}

const durable = ({ received }: Subscription) =>
  received.filter(
    (event): event is ReceivedEvent & { offset: number } => event.offset !== undefined,
  )
const nameOf = ({ userId, topic }: Subscription) => `${userId} on ${topic}`
