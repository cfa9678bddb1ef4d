import type { ChatError, ChatMessage } from '@parley/client'
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
          ? `Not sent yet. ${reasonOf(waiting.error)} Next try at ${timeOf(waiting.until)}.`
          : 'Sending…'}
      </p>
    )
  return (
    <p className="delivery delivery-failed" role="alert">
      <span>Not sent. {plainWordsOf(error)}</span>
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

/** Why a message that is tried again by itself waits. */
const reasonOf = ({ code }: ChatError) =>
  code === 'RATE_LIMITED' ? 'That was a lot at once.' : 'The server cannot take it right now.'

const QuietButton = ({ label, onClick }: { label: string; onClick: () => void }) => (
  <button type="button" className="button button-small button-quiet" onClick={onClick}>
    {label}
  </button>
)
