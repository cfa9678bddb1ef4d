import { usePins } from '@parley/client/react'
import { Avatar } from './avatar.tsx'
import { Drawer } from './drawer.tsx'
import { shortTimeOf } from './format.ts'
import { MessageText } from './message-text.tsx'
import { useRoom } from './room.ts'
import { useTell } from './toasts.tsx'

/** What was pinned, the newest pin first. */
export function Pins({ onClose }: { onClose: () => void }) {
  const { channel, actions, show } = useRoom()
  const { attempt } = useTell()
  const { items, status } = usePins(channel.id)
  return (
    <Drawer title="Pinned messages" onClose={onClose}>
      {items.length === 0 && (
        <p className="empty">
          {status === 'loading' ? 'Loading…' : 'Nothing is pinned. Pin what should be found again.'}
        </p>
      )}
      <ul className="pins" aria-label="Pinned messages">
        {items.map(({ id, user, text, mentions, createdAt }) => (
          <li key={id}>
            <p className="pin-who">
              <Avatar id={user.id} name={user.name} size="small" /> <strong>{user.name}</strong>{' '}
              <time dateTime={createdAt}>{shortTimeOf(createdAt)}</time>
            </p>
            <div className="message-text">
              <MessageText text={text} mentions={mentions} />
            </div>
            <p className="pin-actions">
              <button
                type="button"
                className="button button-small button-quiet"
                onClick={() => show(id)}
              >
                Show
              </button>
              <button
                type="button"
                className="button button-small button-quiet"
                onClick={() => void attempt(actions.unpin(id))}
              >
                Unpin
              </button>
            </p>
          </li>
        ))}
      </ul>
    </Drawer>
  )
}
