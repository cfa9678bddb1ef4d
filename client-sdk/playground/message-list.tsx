import type { MessagesSnapshot } from '@parley/client'
import {
  type KeyboardEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { plural } from './format.ts'
import { Icon } from './icons.tsx'
import { keyOf, rowIdOf } from './message.tsx'
import { MessageRows } from './message-rows.tsx'
import { moveFocus } from './move-focus.ts'
import { Nothing } from './nothing.tsx'
import { useOpenChannel } from './open-channel.ts'
import { useIsVisible, useNearEdge, useScroll } from './scroll.ts'
import { useToasts } from './toasts.tsx'
import { useActiveMessage } from './use-active-message.ts'
import { useUnseenCount } from './use-unseen-count.ts'

type Props = {
  list: MessagesSnapshot & { loadOlder: () => Promise<void>; loadNewer: () => Promise<void> }
  label: string
  /** The read position when the channel was opened, if there were unread messages. */
  unreadSince?: number | undefined
  /** Of the whole channel: replies count, although a thread shows them. */
  unreadCount?: number
  /** The version of that count. */
  unreadVersion?: number
  /** The message to scroll to. */
  target?: { id: string } | undefined
  onRead?: () => Promise<void>
}

/** A scrolling list of messages, which loads more at its edges and marks its end as read. */
export function MessageList(props: Props) {
  const { list, label, unreadSince, unreadCount, unreadVersion, target, onRead } = props
  const { items, status, hasNewer } = list
  const { me, actions, isThread } = useOpenChannel()
  const { attempt } = useToasts()
  const top = useRef<HTMLDivElement>(null)
  const end = useRef<HTMLDivElement>(null)
  const lastUnsent = items.findLast(({ userId, status }) => userId === me && status !== 'sent')
  const scroll = useScroll({ lastOwnKey: lastUnsent && keyOf(lastUnsent), isLive: !hasNewer })
  const isEndVisible = useIsVisible(end)
  const unseen = useUnseenCount(items, { isEndVisible, me })
  const [active, setActive] = useActiveMessage()
  const isLoading = useLoadingAtEdges(list, { box: scroll.box, top, end })

  useReading({ list, unreadCount, unreadVersion, isEndVisible, onRead })
  useScrollTo(target && rowIdOf(target.id, { me, isThread }), {
    request: target,
    items,
    onScroll: scroll.position.leaveEnd,
  })
  const goToLatest = async () => {
    if (hasNewer) await attempt(actions.jumpToLatest())
    scroll.position.toEnd()
  }
  return (
    <div className="log-frame">
      <div
        className="log"
        ref={scroll.box}
        onScroll={scroll.position.remember}
        role="log"
        aria-label={label}
        aria-busy={isLoading || status === 'loading'}
      >
        {/* biome-ignore lint/a11y/noStaticElementInteractions: handles events of its rows */}
        <div
          ref={scroll.content}
          className="log-content"
          onPointerLeave={() => setActive({ hovered: undefined })}
          onKeyDown={moveBetweenRows}
        >
          <div ref={top} />
          <ListNotes list={list} />
          <MessageRows
            items={items}
            unreadSince={unreadSince}
            target={target}
            active={active}
            onActive={setActive}
          />
          <div ref={end} className="log-end" />
        </div>
      </div>
      {(hasNewer || !isEndVisible) && items.length > 0 && (
        <button type="button" className="pill" data-news={unseen > 0} onClick={goToLatest}>
          {unseen > 0 ? plural(unseen, 'new message') : 'Latest'} <Icon name="down" size={14} />
        </button>
      )}
    </div>
  )
}

type Reading = Pick<Props, 'list' | 'unreadCount' | 'unreadVersion' | 'onRead'> & {
  isEndVisible: boolean
}

/** Marks everything as read while the newest message is in view. */
function useReading(props: Reading) {
  const { list, unreadCount = 0, unreadVersion = 0, isEndVisible, onRead } = props
  const { items, hasNewer } = list
  const lastSent = items.findLast(({ status }) => status === 'sent')
  /** The last mark. If it is refused, the count comes again with the same version. */
  const marked = useRef<{ lastSent: typeof lastSent; unreadVersion: number }>(undefined)
  useEffect(() => {
    if (!isEndVisible || hasNewer || !lastSent) return
    // Replies are counted, but not listed.
    const hasNews = unreadCount > 0 && unreadVersion > (marked.current?.unreadVersion ?? -1)
    if (marked.current?.lastSent === lastSent && !hasNews) return
    marked.current = { lastSent, unreadVersion }
    onRead?.().catch(() => {}) // the next message to be read marks this one too
  }, [isEndVisible, hasNewer, lastSent, unreadCount, unreadVersion, onRead])
}

type ScrollRequest = { request: unknown; items: readonly unknown[]; onScroll: () => void }

/** Scrolls to a row and focuses it, once for each `request`, as soon as it is among the items. */
function useScrollTo(rowId: string | undefined, { request, items, onScroll }: ScrollRequest) {
  const done = useRef<unknown>(undefined)
  // biome-ignore lint/correctness/useExhaustiveDependencies: new items may have the row
  useLayoutEffect(() => {
    const row = rowId === undefined ? null : document.getElementById(rowId)
    if (!row || done.current === request) return
    done.current = request
    onScroll()
    row.scrollIntoView({ block: 'center' })
    row.focus({ preventScroll: true })
  }, [rowId, request, items])
}

/** Notes above the messages, or in their place: that more are loading, or why there are none. */
const ListNotes = ({ list: { items, status, error, hasOlder } }: Pick<Props, 'list'>) => (
  <>
    {hasOlder && (
      <p className="log-note">
        {status === 'ready' || status === 'loading'
          ? 'Loading earlier messages…'
          : 'Earlier messages need the network'}
      </p>
    )}
    {items.length === 0 && (
      <Nothing what="messages" status={status} error={error} count={4}>
        Nothing here yet. Say something.
      </Nothing>
    )}
  </>
)

type Edges = {
  box: RefObject<HTMLDivElement | null>
  top: RefObject<HTMLDivElement | null>
  end: RefObject<HTMLDivElement | null>
}

/** How long a page that failed to load is not asked for again: twice as long each time. */
const FIRST_PAUSE_MS = 4_000
const LONGEST_PAUSE_MS = 60_000

/** Loads more when an edge of the list comes near. Returns whether it is loading. */
function useLoadingAtEdges(list: Props['list'], { box, top, end }: Edges) {
  const { items, status, hasOlder, hasNewer } = list
  const { attempt } = useToasts()
  const [isLoading, setLoading] = useState(false)
  const failures = useRef(0)
  const load = (more: () => Promise<void>) => {
    if (isLoading || status !== 'ready') return
    setLoading(true)
    const page = more()
    void attempt(page)
    const endLoading = () => setLoading(false)
    page.then(
      () => {
        failures.current = 0
        endLoading()
      },
      () => {
        // The edge is still near: asked for at once, it would be asked for endlessly.
        const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures.current)
        failures.current += 1
        setTimeout(endLoading, pauseMs)
      },
    )
  }
  const recheckOn = `${items.length} ${isLoading} ${status}`
  useNearEdge(top, {
    box,
    recheckOn,
    onNear: () => {
      if (hasOlder) load(list.loadOlder)
    },
  })
  useNearEdge(end, {
    box,
    recheckOn,
    onNear: () => {
      if (hasNewer) load(list.loadNewer)
    },
  })
  return isLoading
}

/** Arrow keys move between rows only while a row itself has the focus, not a control in it. */
const moveBetweenRows = (event: KeyboardEvent<HTMLElement>) => {
  if ((event.target as HTMLElement).hasAttribute('data-row')) moveFocus(event)
}
