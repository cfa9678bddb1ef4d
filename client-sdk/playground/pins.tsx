import type { PinnedMessage } from '@parley/client'
import { usePins } from '@parley/client/react'
import { Avatar } from './avatar.tsx'
import { Drawer } from './drawer.tsx'
import { shortTimeOf } from './format.ts'
import { MessageText } from './message-text.tsx'
import { Nothing } from './nothing.tsx'
import { useOpenChannel } from './open-channel.ts'
import { useToasts } from './toasts.tsx'

/** The pinned messages, the newest pin first. */
export function Pins({ onClose }: { onClose: () => void }) {
  const { channel } = useOpenChannel()
  const { items, status, error } = usePins(channel.id)
  return (
    <Drawer title="Pinned messages" onClose={onClose}>
      {items.length === 0 && (
        <Nothing what="pins" status={status} error={error} count={2}>
          Nothing is pinned. Pin messages to find them again.
        </Nothing>
      )}
      <ul className="pins" aria-label="Pinned messages">
        {items.map((message) => (
          <li key={message.id}>
            <Pin message={message} />
          </li>
        ))}
      </ul>
    </Drawer>
  )
}

function Pin({ message }: { message: PinnedMessage }) {
  const { id, user, text, createdAt } = message
  const { actions, show } = useOpenChannel()
  const { attempt } = useToasts()
  const unpin = () => void attempt(actions.unpin(id))
  return (
    <>
      <p className="pin-who">
        <Avatar id={user.id} name={user.name} size="small" /> <strong>{user.name}</strong>{' '}
        <time dateTime={createdAt}>{shortTimeOf(createdAt)}</time>
      </p>
      <div className="message-text">
        <MessageText text={text} />
      </div>
      <p className="pin-actions">
        <button
          type="button"
          className="button button-small button-quiet"
          onClick={() => show(message)}
        >
          Show
        </button>
        <button type="button" className="button button-small button-quiet" onClick={unpin}>
          Unpin
        </button>
      </p>
    </>
  )
}
