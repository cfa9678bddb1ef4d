import type { ChatMessage } from '@parley/client'
import { useConnection } from '@parley/client/react'
import { timeOf } from './format.ts'
import { useOpenChannel } from './open-channel.ts'
import { plainWordsOf, useToasts } from './toasts.tsx'

/** The delivery of an outgoing message: pending, or refused with a reason and what to do. */
export function DeliveryStatus({ message, onEdit }: { message: ChatMessage; onEdit: () => void }) {
  const { status, error, waiting, clientId, text } = message
  const { actions } = useOpenChannel()
  const { attempt } = useToasts()
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
      {/* The app's backend may have refused it, with a reason for its author. */}
      <span>Not sent. {error?.code === 'FORBIDDEN' ? error.message : plainWordsOf(error)}</span>
      {error?.retryable && (
        <button
          type="button"
          className="button button-small"
          onClick={() => actions.retry(clientId)}
        >
          Retry
        </button>
      )}
      <QuietButton label="Edit" onClick={onEdit} />
      {/* Pages that are not served securely have no clipboard. */}
      {'clipboard' in navigator && (
        <QuietButton label="Copy" onClick={() => attempt(navigator.clipboard.writeText(text))} />
      )}
      <QuietButton label="Discard" onClick={() => actions.discard(clientId)} />
    </p>
  )
}

const QuietButton = ({ label, onClick }: { label: string; onClick: () => void }) => (
  <button type="button" className="button button-small button-quiet" onClick={onClick}>
    {label}
  </button>
)
