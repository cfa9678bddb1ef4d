import { useChannels, useConnection, useMe, useStore, useUnread } from '@parley/client/react'
import { useEffect, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { plural } from './format.ts'
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
            {total > 99 ? '99+' : total} unread
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
 * What waits to be sent. Hidden while the user is live: then it passes at once. That something was
 * read waits as well, but nobody looks for it here.
 */
function OutboxStrip() {
  const { outbox, network } = useSession()
  const operations = useStore(outbox).filter(({ type }) => type !== 'read')
  const isUp = useStore(network.isUp)
  const { status } = useConnection()
  const { items } = useChannels()
  const nameOf = (channelId: string) =>
    items.find(({ id }) => id === channelId)?.name ?? 'a channel'
  if (isUp && (status === 'live' || operations.length === 0)) return null
  return (
    <details className="outbox">
      <summary>
        Outbox <span className="badge badge-quiet">{operations.length}</span>
        <span className="outbox-note">
          {operations.length === 0
            ? 'What you do will wait here.'
            : 'Sent in order once the network is back.'}
        </span>
      </summary>
      <ul aria-label="Outbox">
        {operations.map((operation) => (
          <li key={operation.clientId}>
            <strong>{nameOf(operation.channelId)}</strong> <span>{describe(operation)}</span>
            {operation.failure && <em>not sent</em>}
          </li>
        ))}
      </ul>
    </details>
  )
}
