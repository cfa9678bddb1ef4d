import type { ChatMessage } from '@parley/client'
import { useConnection } from '@parley/client/react'
import { timeOf } from './format.ts'
import { useOpenChannel } from './open-channel.ts'

/** The delivery of an outgoing message: pending, or refused with a reason and a choice. */
export function DeliveryStatus({ message }: { message: ChatMessage }) {
  const { status, error, waiting, clientId } = message
  const { actions } = useOpenChannel()
  const isLive = useConnection().status === 'live'
  if (status === 'sent' || clientId === null) return null
  if (status === 'pending' && !isLive) return <p className="delivery">Waiting for the network</p>
  if (status === 'pending')
    return (
      <p className="delivery">
        {waiting
          ? `Not sent yet: ${waiting.error.message}. Next try ${timeOf(waiting.until)}`
          : 'Sending…'}
      </p>
    )
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
