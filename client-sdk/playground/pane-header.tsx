import type { OutboxOperation } from '@parley/client'
import {
  useChannels,
  useChat,
  useConnection,
  useMe,
  useStore,
  useUnread,
} from '@parley/client/react'
import { useEffect, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { plural } from './format.ts'
import { plainText } from './markdown.ts'
import { useSession } from './session.ts'
import { describe } from './wire-outbox.ts'

/** The user of a pane, their connection and unread messages, and the switch for their network. */
export function PaneHeader() {
  const { userId, network } = useSession()
  const name = useMe()?.name ?? userId
  const isUp = useStore(network.isUp)
  const { total } = useUnread()
  return (
    <>
      <header className="pane-header">
        <Avatar id={userId} name={name} />
        <div className="pane-who">
          <h2>{name}</h2>
          <ConnectionStatus />
        </div>
        {total > 0 && (
          <span
            className="badge"
            role="status"
            aria-label={`${plural(total, 'unread message')} in all`}
          >
            {total > 99 ? '99+' : total} <span className="badge-word">unread</span>
          </span>
        )}
        <button
          type="button"
          role="switch"
          aria-checked={isUp}
          className="switch"
          onClick={() => network.switch(!isUp)}
        >
          <span className="switch-track" aria-hidden="true" />
          Online
        </button>
      </header>
      <OutboxStrip />
    </>
  )
}

const statusTexts = {
  live: 'Live',
  connecting: 'Connecting…',
  'catching-up': 'Catching up…',
  offline: 'Offline',
}

function ConnectionStatus() {
  const { status } = useConnection()
  const seconds = useCountdown()
  return (
    <p className={`connection connection-${status}`}>
      <span className="dot" aria-hidden="true" />
      {/* Announced when it changes, but not at each attempt. */}
      <span role="status" className="sr-only">
        {status === 'live' ? 'Connected' : 'Not connected'}
      </span>
      <span>{statusTexts[status]}</span>
      {seconds !== undefined && <span className="connection-next">· next try in {seconds} s</span>}
    </p>
  )
}

/** The seconds until the next attempt to connect. */
function useCountdown() {
  const connection = useConnection()
  const [seconds, setSeconds] = useState<number>()
  useEffect(() => {
    const { reconnectInMs } = connection
    if (reconnectInMs === null) return setSeconds(undefined)
    const at = performance.now() + reconnectInMs
    const update = () => setSeconds(Math.max(0, Math.ceil((at - performance.now()) / 1000)))
    update()
    const timer = setInterval(update, 250)
    return () => clearInterval(timer)
  }, [connection])
  return seconds
}

/**
 * Counts the operations that wait to be sent, and those that were refused. Hidden while there are
 * none, and while they pass at once. Read marks wait as well, but nobody looks for them here.
 */
function OutboxStrip() {
  const { outbox, network } = useSession()
  const operations = useStore(outbox).filter(({ type }) => type !== 'read')
  const hasRefused = operations.some(({ failure }) => failure)
  const isUp = useStore(network.isUp)
  const { status } = useConnection()
  if (isUp && !hasRefused && (status === 'live' || operations.length === 0)) return null
  return (
    <details className="outbox">
      <summary>
        Outbox <span className="badge badge-quiet">{operations.length}</span>
        <span className="outbox-note">{noteOf(operations, hasRefused)}</span>
      </summary>
      <ul aria-label="Outbox">
        {operations.map((operation) => (
          <OutboxRow key={operation.clientId} operation={operation} />
        ))}
      </ul>
    </details>
  )
}

function noteOf(operations: readonly OutboxOperation[], hasRefused: boolean) {
  if (operations.length === 0) return 'What you do will wait here.'
  return hasRefused ? 'Some of it was refused.' : 'Sent in order once the network is back.'
}

function OutboxRow({ operation }: { operation: OutboxOperation }) {
  const { channelId, clientId, failure } = operation
  const chat = useChat()
  const { items } = useChannels()
  const name = items.find(({ id }) => id === channelId)?.name ?? 'a channel'
  return (
    <li>
      <strong>{name}</strong> <span className="outbox-what">{plainText(describe(operation))}</span>
      {failure && (
        <>
          <em>not sent</em>
          <button
            type="button"
            className="button button-small button-quiet"
            onClick={() => chat.channel(channelId).discard(clientId)}
          >
            Discard
          </button>
        </>
      )}
    </li>
  )
}
