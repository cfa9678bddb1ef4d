import type { ChatMessage } from '@parley/client'
import { memo, useRef, useState } from 'react'
import { Attachments } from './attachments.tsx'
import { Avatar } from './avatar.tsx'
import { DeleteDialog } from './delete.tsx'
import { DeliveryStatus } from './delivery-status.tsx'
import { Editor } from './editor.tsx'
import { replies, timeOf, wholeTimeOf } from './format.ts'
import { Icon } from './icons.tsx'
import { MessageText } from './message-text.tsx'
import { MessageTools } from './message-tools.tsx'
import { useNavigation } from './navigation.ts'
import { useOpenChannel } from './open-channel.ts'
import { LinkPreviews } from './previews.tsx'
import { QuotedMessage } from './quoted-message.tsx'
import { Reactions } from './reactions.tsx'
import type { ActiveChange } from './use-active-message.ts'

type Props = {
  message: ChatMessage
  /** It closely follows another message of the same author, so it shows no name. */
  isGrouped: boolean
  isActive: boolean
  isInTabOrder: boolean
  isTarget: boolean
  onActive: (change: ActiveChange) => void
}

/** A key that stays the same once an outgoing message is stored. */
export const keyOf = ({ clientId, id }: ChatMessage) => clientId ?? id

type RowContext = { me: string; isThread: boolean }
/** The element of a message: a thread may show the same as the channel beside it. */
export const rowIdOf = (id: string, { me, isThread }: RowContext) =>
  `${isThread ? 'reply' : 'message'}-${me}-${id}`

/** A message with its previews, reactions and replies; its tools while it is active. */
export const MessageRow = memo(function MessageRow(props: Props) {
  const { message, isGrouped, isActive, isInTabOrder, isTarget, onActive } = props
  const { me, isThread } = useOpenChannel()
  const { id, user, createdAt, status, mentions } = message
  const [mode, setMode] = useState<'edit' | 'delete'>()
  const row = useRef<HTMLElement>(null)
  const closeEditor = () => {
    row.current?.focus({ preventScroll: true })
    setMode(undefined)
  }
  const key = keyOf(message)
  const grouped = isGrouped ? 'message-grouped' : ''
  const targeted = isTarget ? 'message-target' : ''
  return (
    <article
      ref={row}
      id={rowIdOf(id, { me, isThread })}
      className={`message ${grouped} ${targeted}`}
      data-row
      data-status={status}
      data-type={message.type}
      data-mentions-me={mentions.includes(me)}
      aria-label={`${user.name}, ${timeOf(createdAt)}`}
      tabIndex={isInTabOrder ? 0 : -1}
      // A tap on a control must not move it, as the tools would that appear.
      onPointerEnter={({ pointerType }) => {
        if (pointerType !== 'touch') onActive({ hovered: key })
      }}
      onFocus={({ target, currentTarget }) => {
        if (target === currentTarget || target.matches(':focus-visible')) onActive({ focused: key })
      }}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (currentTarget.contains(relatedTarget)) return
        // Once the tap that takes the focus has reached its control: closing tools would move that.
        setTimeout(() => onActive({ blurred: key }))
      }}
    >
      <div className="message-side">
        {isGrouped ? (
          <time dateTime={createdAt}>{timeOf(createdAt)}</time>
        ) : (
          <Avatar id={user.id} name={user.name} />
        )}
      </div>
      <div className="message-main">
        {!isGrouped && <MessageHeader message={message} isActive={isActive} />}
        {message.quotedMessage && <QuotedMessage quoted={message.quotedMessage} />}
        {mode === 'edit' ? (
          <Editor message={message} onClose={closeEditor} />
        ) : (
          <MessageBody message={message} isGrouped={isGrouped} />
        )}
        <Attachments attachments={message.attachments} />
        <LinkPreviews previews={message.linkPreviews} />
        <Reactions message={message} />
        <ThreadLink message={message} />
        {mode !== 'edit' && <DeliveryStatus message={message} onEdit={() => setMode('edit')} />}
      </div>
      {/* They stay while the dialog asks: the focus returns to them. */}
      {isActive && status === 'sent' && mode !== 'edit' && (
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

function MessageHeader({ message, isActive }: Pick<Props, 'message' | 'isActive'>) {
  const { user, createdAt, pinned } = message
  const { openProfile } = useNavigation()
  return (
    <header>
      <button
        type="button"
        className="author"
        tabIndex={isActive ? 0 : -1}
        onClick={() => openProfile(user.id)}
      >
        {user.name}
      </button>
      <time dateTime={createdAt} title={wholeTimeOf(createdAt)}>
        {timeOf(createdAt)}
      </time>
      {pinned && <PinnedMark />}
    </header>
  )
}

const MessageBody = ({ message, isGrouped }: Pick<Props, 'message' | 'isGrouped'>) => (
  <div className="message-text">
    <MessageText text={message.text} />
    {message.streaming && <span className="caret" />}
    {message.interrupted && <span className="mark"> (interrupted)</span>}
    {message.editedAt && <span className="mark"> (edited)</span>}
    {isGrouped && message.pinned && <PinnedMark hasSpace />}
  </div>
)

const PinnedMark = ({ hasSpace = false }: { hasSpace?: boolean }) => (
  <span className="mark">
    {hasSpace && ' '}
    <Icon name="pin" size={12} /> Pinned
  </span>
)

function ThreadLink({ message: { id, replyCount } }: Pick<Props, 'message'>) {
  const { openThread, isThread } = useOpenChannel()
  if (replyCount === 0 || isThread) return null
  return (
    <button type="button" className="thread-link" onClick={() => openThread(id)}>
      <Icon name="thread" size={14} /> {replies(replyCount)}
    </button>
  )
}
