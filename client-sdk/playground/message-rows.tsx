import type { ChatMessage } from '@parley/client'
import { useReads } from '@parley/client/react'
import { Fragment } from 'react'
import { dayOf, firstName, namesOf } from './format.ts'
import { keyOf, MessageRow } from './message.tsx'
import { useOpenChannel } from './open-channel.ts'
import type { ActiveChange, ActiveMessage } from './use-active-message.ts'

type Props = {
  items: readonly ChatMessage[]
  unreadSince: number | undefined
  target: { id: string } | undefined
  active: ActiveMessage
  onActive: (change: ActiveChange) => void
}

/** Messages in order, with a divider per day and for new messages, and a receipt. */
export function MessageRows({ items, unreadSince, target, active, onActive }: Props) {
  const { me, isThread } = useOpenChannel()
  const newest = items.at(-1)
  const lastOwn = items.findLast(({ userId, status }) => userId === me && status === 'sent')
  const firstUnread = firstUnreadOf(items, { unreadSince, me })
  const activeKey = active.held ?? active.hovered ?? active.focused
  const tabKey = active.focused ?? (newest && keyOf(newest))
  return items.map((message, index) => {
    const before = items[index - 1]
    const key = keyOf(message)
    const day = dayOf(message.createdAt)
    const isNewDay = !isThread && (!before || dayOf(before.createdAt) !== day)
    const hasDivider = isNewDay || message === firstUnread
    return (
      <Fragment key={key}>
        {hasDivider && <Divider day={isNewDay ? day : undefined} isNew={message === firstUnread} />}
        <MessageRow
          message={message}
          isGrouped={!hasDivider && isContinuation(before, message)}
          isActive={activeKey === key}
          isInTabOrder={tabKey === key}
          isTarget={target?.id === message.id}
          onActive={onActive}
        />
        {message === lastOwn && <Receipt message={message} />}
      </Fragment>
    )
  })
}

const firstUnreadOf = (
  items: readonly ChatMessage[],
  { unreadSince, me }: { unreadSince: number | undefined; me: string },
) =>
  unreadSince === undefined
    ? undefined
    : items.find(({ seq, userId }) => seq > unreadSince && userId !== me)

const GROUP_MS = 5 * 60_000

/** Whether a message follows another one of the same author closely, and needs no name. */
const isContinuation = (before: ChatMessage | undefined, { userId, createdAt }: ChatMessage) =>
  before?.userId === userId && Date.parse(createdAt) - Date.parse(before.createdAt) < GROUP_MS

type DividerProps = { day: string | undefined; isNew: boolean }

const Divider = ({ day, isNew }: DividerProps) => (
  <p className={isNew ? 'divider divider-new' : 'divider'}>
    <span>{[day, isNew ? 'New' : undefined].filter(Boolean).join(' · ')}</span>
  </p>
)

const MOST_NAMED_READERS = 4

/** The readers of a message: shown under the user's own last message. */
function Receipt({ message: { seq } }: { message: ChatMessage }) {
  const { me, members, channel, isThread } = useOpenChannel()
  const { byUser: reads } = useReads(channel.id)
  if (isThread) return null
  const readers = members.filter(
    ({ userId }) => userId !== me && (reads[userId]?.lastReadSeq ?? 0) >= seq,
  )
  const names =
    readers.length > MOST_NAMED_READERS
      ? `${readers.length} people`
      : namesOf(readers.map(({ user }) => firstName(user.name)))
  return <p className="receipt">{readers.length > 0 ? `Seen by ${names}` : 'Sent'}</p>
}
