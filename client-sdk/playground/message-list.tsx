import type { ChatMessage, MessagesSnapshot } from '@parley/client'
import { useReads } from '@parley/client/react'
import { Fragment, type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { moveFocus } from './channel-list.tsx'
import { dayOf, firstName, namesOf, plural } from './format.ts'
import { Icon } from './icons.tsx'
import { type Active, MessageRow } from './message.tsx'
import { useRoom } from './room.ts'
import { useIsSeen, useNear, useScroll } from './scroll.ts'
import { useTell } from './toasts.tsx'

type Props = {
  list: MessagesSnapshot & { loadOlder: () => Promise<void>; loadNewer: () => Promise<void> }
  label: string
  unreadSince?: number | undefined
  target?: { id: string } | undefined
  onRead?: () => Promise<void>
}
const GROUP_MS = 5 * 60_000
export const keyOf = ({ clientId, id }: ChatMessage) => clientId ?? id

/** Messages in order, with days, what is new, and who has seen the last one. */
export function MessageList({ list, label, unreadSince, target, onRead }: Props) {
  const { items, status, hasOlder, hasNewer } = list
  const { me, actions, isThread } = useRoom()
  const { attempt } = useTell()
  const [isLoading, setLoading] = useState(false)
  const [active, setActive] = useActive()
  const end = useRef<HTMLDivElement>(null)
  const top = useRef<HTMLDivElement>(null)
  const waiting = items.findLast(({ userId, status }) => userId === me && status !== 'sent')
  const scroll = useScroll({ lastOwn: waiting && keyOf(waiting), isLive: !hasNewer })
  const isEndSeen = useIsSeen(end)
  const last = items.findLast(({ status }) => status === 'sent')
  const lastOwn = items.findLast(({ userId, status }) => userId === me && status === 'sent')
  const unseen = useUnseen(items, { isEndSeen, me })

  const load = (more: () => Promise<void>) => {
    if (isLoading || status !== 'ready') return
    setLoading(true)
    void attempt(more()).finally(() => setLoading(false))
  }
  useNear(top, {
    box: scroll.box,
    again: `${items.length} ${isLoading} ${status}`,
    onNear: () => hasOlder && load(list.loadOlder),
  })
  useNear(end, {
    box: scroll.box,
    again: `${items.length} ${isLoading} ${status}`,
    onNear: () => hasNewer && load(list.loadNewer),
  })
  useEffect(() => {
    if (isEndSeen && !hasNewer && last) onRead?.().catch(() => {}) // the next one read tells it again
  }, [isEndSeen, hasNewer, last, onRead])
  useLayoutEffect(() => {
    const row = target && document.getElementById(`message-${me}-${target.id}`)
    row?.scrollIntoView({ block: 'center' })
    row?.focus({ preventScroll: true })
  }, [target, me])
  const toLatest = async () => {
    if (hasNewer) await attempt(actions.jumpToLatest())
    scroll.place.toEnd()
  }
  const newest = items.at(-1)
  const focused = active.focused ?? (newest && keyOf(newest))
  const firstNew =
    unreadSince === undefined
      ? undefined
      : items.find(({ seq, userId }) => seq > unreadSince && userId !== me)?.id
  return (
    <div className="log-frame">
      <div
        className="log"
        ref={scroll.box}
        onScroll={scroll.place.remember}
        role="log"
        aria-label={label}
        aria-busy={isLoading || status === 'loading'}
      >
        {/* biome-ignore lint/a11y/noStaticElementInteractions: keys and pointers are heard for the rows inside */}
        <div
          ref={scroll.content}
          className="log-content"
          onPointerLeave={() => setActive({ hovered: undefined })}
          onKeyDown={moveRows}
        >
          <div ref={top} />
          {hasOlder && (
            <p className="log-note">
              {status === 'ready'
                ? 'Loading earlier messages…'
                : 'Earlier messages need the network'}
            </p>
          )}
          {status === 'loading' && items.length === 0 && <Skeletons />}
          {status !== 'loading' && items.length === 0 && (
            <p className="empty">Nothing here yet. Say something.</p>
          )}
          {items.map((message, place) => {
            const before = items[place - 1]
            const isNewDay =
              !isThread && (!before || dayOf(before.createdAt) !== dayOf(message.createdAt))
            const key = keyOf(message)
            return (
              <Fragment key={key}>
                {isNewDay && <Divider text={dayOf(message.createdAt)} />}
                {message.id === firstNew && <Divider text="New" isNew />}
                <MessageRow
                  message={message}
                  isGrouped={
                    !isNewDay && message.id !== firstNew && isContinued(before, message, isThread)
                  }
                  isActive={(active.held ?? active.hovered ?? active.focused) === key}
                  isInTabOrder={focused === key}
                  isTarget={target?.id === message.id}
                  onActive={setActive}
                />
                {message === lastOwn && <Receipt message={message} />}
              </Fragment>
            )
          })}
          <div ref={end} className="log-end" />
        </div>
      </div>
      {(hasNewer || !isEndSeen) && items.length > 0 && (
        <button type="button" className="pill" data-news={unseen > 0} onClick={toLatest}>
          {unseen > 0 ? plural(unseen, 'new message') : 'Latest'} <Icon name="down" size={14} />
        </button>
      )}
    </div>
  )
}

/** Which message shows its tools: the one whose menu is open, else under the pointer, else with the focus. */
function useActive() {
  const [active, setActive] = useState<Active>({})
  const change = useRef((next: Active) => setActive((before) => ({ ...before, ...next })))
  return [active, change.current] as const
}

/** How many came from others since the end was last seen. */
function useUnseen(
  items: readonly ChatMessage[],
  { isEndSeen, me }: { isEndSeen: boolean; me: string },
) {
  const seen = useRef(Number.POSITIVE_INFINITY)
  const newest = items.findLast(({ status }) => status === 'sent')?.seq
  useEffect(() => {
    if (isEndSeen && newest !== undefined) seen.current = newest
  }, [isEndSeen, newest])
  return isEndSeen
    ? 0
    : items.filter(
        ({ seq, userId, status }) => status === 'sent' && seq > seen.current && userId !== me,
      ).length
}

/** Replies in the channel say each what they answer. */
const isContinued = (
  before: ChatMessage | undefined,
  { userId, createdAt, parentId }: ChatMessage,
  isThread: boolean,
) =>
  before?.userId === userId &&
  (isThread || (parentId ?? before.parentId) === null) &&
  Date.parse(createdAt) - Date.parse(before.createdAt) < GROUP_MS

const Divider = ({ text, isNew = false }: { text: string; isNew?: boolean }) => (
  <p className={isNew ? 'divider divider-new' : 'divider'}>
    <span>{text}</span>
  </p>
)

/** Under the last message of one's own: who has seen it. */
function Receipt({ message: { seq } }: { message: ChatMessage }) {
  const { me, members, channel, isThread } = useRoom()
  const reads = useReads(channel.id)
  if (isThread) return null
  const readers = members.filter(
    ({ userId }) => userId !== me && (reads[userId]?.lastReadSeq ?? 0) >= seq,
  )
  const names =
    readers.length > 4
      ? `${readers.length} people`
      : namesOf(readers.map(({ user }) => firstName(user.name)))
  return <p className="receipt">{readers.length > 0 ? `Seen by ${names}` : 'Sent'}</p>
}

const moveRows = (event: KeyboardEvent<HTMLElement>) => {
  if ((event.target as HTMLElement).hasAttribute('data-row')) moveFocus(event)
}

const Skeletons = () => (
  <div className="skeletons" role="status" aria-label="Loading messages">
    {['a', 'b', 'c', 'd'].map((key) => (
      <span key={key} className="skeleton" />
    ))}
  </div>
)
