import type { ChatMessage } from '@parley/client'
import { useConnection } from '@parley/client/react'
import { useOpenChannel } from './open-channel.ts'

/** The delivery of an outgoing message: pending, or refused with a reason and a choice. */
export function Delivery({ message: { status, error, clientId } }: { message: ChatMessage }) {
  const { actions } = useOpenChannel()
  const isLive = useConnection().status === 'live'
  if (status === 'sent' || clientId === null) return null
  if (status === 'pending')
    return <p className="delivery">{isLive ? 'Sending…' : 'Waiting for the network'}</p>
  return (
    <p className="delivery delivery-failed" role="alert">
      <span>
        Not sent: {error?.message} <code>{error?.code}</code>
      </span>
      <button type="button" className="button button-small" onClick={() => actions.retry(clientId)}>
        Retry
      </button>
      <button
        type="button"
        className="button button-small button-quiet"
        onClick={() => actions.discard(clientId)}
      >
        Discard
      </button>
    </p>
  )
}
