import type { ChatMessage } from '@parley/client'
import { useConnection } from '@parley/client/react'
import { memo, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { DeleteDialog } from './delete.tsx'
import { Editor } from './editor.tsx'
import { replies, timeOf, wholeTimeOf } from './format.ts'
import { Icon } from './icons.tsx'
import { MessageText, plainText } from './message-text.tsx'
import { MessageTools } from './message-tools.tsx'
import { LinkPreviews } from './previews.tsx'
import { Reactions } from './reactions.tsx'
import { useKnown, useRoom } from './room.ts'

export type Active = {
  hovered?: string | undefined
  focused?: string | undefined
  held?: string | undefined
}

type Props = {
  message: ChatMessage
  /** Follows another of the same author at once: needs no name. */
  isGrouped: boolean
  isActive: boolean
  isInTabOrder: boolean
  isTarget: boolean
  onActive: (change: Active) => void
}

/** A message with all that hangs on it. */
export const MessageRow = memo(function MessageRow({
  message,
  isGrouped,
  isActive,
  isInTabOrder,
  isTarget,
  onActive,
}: Props) {
  const { me, isThread } = useRoom()
  const { id, user, text, createdAt, editedAt, pinned, status, mentions } = message
  const [mode, setMode] = useState<'edit' | 'delete'>()
  const key = message.clientId ?? id
  return (
    <article
      id={isThread ? undefined : `message-${me}-${id}`}
      className={`message ${isGrouped ? 'message-grouped' : ''} ${isTarget ? 'message-target' : ''}`}
      data-row
      data-status={status}
      data-mentions-me={mentions.includes(me)}
      aria-label={`${user.name}, ${timeOf(createdAt)}`}
      tabIndex={isInTabOrder ? 0 : -1}
      onPointerEnter={() => onActive({ hovered: key })}
      onFocus={() => onActive({ focused: key })}
      onBlur={({ currentTarget, relatedTarget }) =>
        currentTarget.contains(relatedTarget) || onActive({ focused: undefined })
      }
    >
      <div className="message-side">
        {isGrouped ? (
          <time dateTime={createdAt}>{timeOf(createdAt)}</time>
        ) : (
          <Avatar id={user.id} name={user.name} />
        )}
      </div>
      <div className="message-main">
        {!isGrouped && (
          <header>
            <strong>{user.name}</strong>
            <time dateTime={createdAt} title={wholeTimeOf(createdAt)}>
              {timeOf(createdAt)}
            </time>
            {pinned && (
              <span className="mark">
                <Icon name="pin" size={12} /> Pinned
              </span>
            )}
          </header>
        )}
        {message.parentId && <Quote parentId={message.parentId} />}
        {mode === 'edit' ? (
          <Editor message={message} onClose={() => setMode(undefined)} />
        ) : (
          <div className="message-text">
            <MessageText text={text} mentions={mentions} />
            {editedAt && <span className="mark"> (edited)</span>}
            {isGrouped && pinned && (
              <span className="mark">
                {' '}
                <Icon name="pin" size={12} /> Pinned
              </span>
            )}
          </div>
        )}
        <LinkPreviews previews={message.linkPreviews} />
        <Reactions message={message} />
        <ThreadLink message={message} />
        <Delivery message={message} />
      </div>
      {isActive && status === 'sent' && mode === undefined && (
        <MessageTools
          message={message}
          onMode={setMode}
          onHold={(isHeld) => onActive({ held: isHeld ? key : undefined })}
        />
      )}
      {mode === 'delete' && <DeleteDialog message={message} onClose={() => setMode(undefined)} />}
    </article>
  )
})

/** What a reply answers. */
function Quote({ parentId }: { parentId: string }) {
  const { openThread, isThread } = useRoom()
  const parent = useKnown(parentId)
  if (isThread) return null
  return (
    <button type="button" className="quote" onClick={() => openThread(parentId)}>
      <Icon name="reply" size={13} />
      <span>{parent ? `${parent.user.name}: ${plainText(parent.text)}` : 'In a thread'}</span>
    </button>
  )
}

function ThreadLink({ message: { id, replyCount } }: { message: ChatMessage }) {
  const { openThread, isThread } = useRoom()
  if (replyCount === 0 || isThread) return null
  return (
    <button type="button" className="thread-link" onClick={() => openThread(id)}>
      <Icon name="thread" size={14} /> {replies(replyCount)}
    </button>
  )
}

/** A message on its way says so; one that was refused says why, and waits for a decision. */
function Delivery({ message: { status, error, clientId } }: { message: ChatMessage }) {
  const { actions } = useRoom()
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
