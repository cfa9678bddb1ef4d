import type { ChatMessage } from '@parley/client'
import { EmojiButton } from './emoji.tsx'
import { IconButton } from './icon-button.tsx'
import { useOpenChannel } from './open-channel.ts'
import { useToasts } from './toasts.tsx'

/** How long authors can delete a message: the server's `deleteWindowSeconds`. */
const DELETE_WINDOW_MS = 15 * 60_000

type Props = {
  message: ChatMessage
  onMode: (mode: 'edit' | 'delete') => void
  /** Keeps the tools shown while a menu is open. */
  onHold: (isHeld: boolean) => void
}

/** The buttons for what the user can do with a message. */
export function MessageTools({ message, onMode, onHold }: Props) {
  const { id, parentId, pinned, userId, createdAt } = message
  const { actions, me, openThread, quote, isThread } = useOpenChannel()
  const { attempt } = useToasts()
  const isMine = userId === me
  return (
    <div className="tools" role="toolbar" aria-label="Message">
      <EmojiButton
        label="React"
        verb="React with"
        onOpenChange={onHold}
        onChoose={(emoji) => void attempt(actions.react(id, emoji))}
      />
      {!isThread && (
        <IconButton
          size={17}
          label="Reply in thread"
          icon="reply"
          onClick={() => openThread(parentId ?? id)}
        />
      )}
      {!isThread && (
        <IconButton size={17} label="Quote" icon="quote" onClick={() => quote(message)} />
      )}
      <IconButton
        size={17}
        label={pinned ? 'Unpin' : 'Pin'}
        icon="pin"
        onClick={() => void attempt(pinned ? actions.unpin(id) : actions.pin(id))}
      />
      {isMine && <IconButton size={17} label="Edit" icon="edit" onClick={() => onMode('edit')} />}
      {isMine && Date.now() - Date.parse(createdAt) < DELETE_WINDOW_MS && (
        <IconButton size={17} label="Delete" icon="delete" onClick={() => onMode('delete')} />
      )}
    </div>
  )
}
