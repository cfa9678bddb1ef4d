import type { Channel, Member, Message } from '@parley/client'
import { useChannels, useMembers } from '@parley/client/react'
import { useRef } from 'react'
import { ChannelIcon } from './channel-icon.tsx'
import { firstName, plural, shortTimeOf } from './format.ts'
import { IconButton } from './icon-button.tsx'
import { Icon, type IconName } from './icons.tsx'
import { plainText } from './markdown.ts'
import { moveFocus } from './move-focus.ts'
import { useNavigation } from './navigation.ts'
import { Nothing } from './nothing.tsx'
import { useSession } from './session.ts'
import { commandKey } from './shortcuts.tsx'
import { useToasts } from './toasts.tsx'

type Props = {
  openId: string | undefined
  onJump: () => void
  onCreate: () => void
  onBrowse: () => void
}

/** The user's channels, newest activity first. Arrow keys move between them. */
export function ChannelList({ openId, onJump, onCreate, onBrowse }: Props) {
  const { items, status, error, hasMore, loadMore } = useChannels()
  const { attempt } = useToasts()
  const { openChannel } = useNavigation()
  const { userId } = useSession()
  return (
    <nav className="sidebar" aria-label={`Channels of ${userId}`}>
      <button type="button" className="search-button" aria-haspopup="dialog" onClick={onJump}>
        <Icon name="search" size={15} /> <span>Jump to</span> <kbd>{commandKey} K</kbd>
      </button>
      <div className="sidebar-head">
        <h3>Channels</h3>
        <IconButton label="Browse channels" icon="compass" onClick={onBrowse} />
        <IconButton label="New channel" icon="plus" onClick={onCreate} />
      </div>
      {items.length === 0 && (
        <Nothing what="channels" status={status} error={error} count={3}>
          No channels yet. Create one, or browse the channels you can join.
        </Nothing>
      )}
      <ul onKeyDown={moveFocus}>
        {items.map((channel) => (
          <li key={channel.id}>
            <ChannelRow channel={channel} isOpen={channel.id === openId} onOpen={openChannel} />
          </li>
        ))}
      </ul>
      {hasMore && status === 'ready' && (
        <button
          type="button"
          className="button button-quiet"
          onClick={() => void attempt(loadMore())}
        >
          More channels
        </button>
      )}
    </nav>
  )
}

type RowProps = { channel: Channel; isOpen: boolean; onOpen: (channelId: string) => void }

function ChannelRow({ channel, isOpen, onOpen }: RowProps) {
  const { userId: me } = useSession()
  const { id, name, unreadCount, lastMessage } = channel
  const nameOf = useMemberNames(channel, isOpen)
  return (
    <button
      type="button"
      className="channel"
      aria-current={isOpen ? 'true' : undefined}
      data-unread={unreadCount > 0}
      onClick={() => onOpen(id)}
    >
      <ChannelIcon channel={channel} />
      <span className="channel-name">
        {name}
        {channel.starred && <ChannelMark icon="star" text="starred" />}
        {channel.muted && <ChannelMark icon="mute" text="muted" />}
      </span>
      {lastMessage && (
        <time dateTime={lastMessage.createdAt}>{shortTimeOf(lastMessage.createdAt)}</time>
      )}
      <span className="channel-last">
        {lastMessage
          ? authorIn(lastMessage, me) + summaryOf(lastMessage, nameOf)
          : 'No messages yet'}
      </span>
      {unreadCount > 0 && <UnreadBadge count={unreadCount} />}
    </button>
  )
}

function authorIn({ type, userId, user }: Message, me: string) {
  if (type === 'system') return ''
  return userId === me ? 'You: ' : `${firstName(user.name)}: `
}

/** The names of members, once the channel was open: to load those of each row is a call a row. */
function useMemberNames({ id, members = [] }: Channel, isOpen: boolean) {
  const { items } = useMembers(isOpen ? id : undefined)
  const known = useRef<readonly Member[]>(members)
  if (items.length > 0) known.current = items
  return (userId: string) => {
    const member = known.current.find((candidate) => candidate.userId === userId)
    return member ? firstName(member.user.name) : userId
  }
}

const ChannelMark = ({ icon, text }: { icon: IconName; text: string }) => (
  <>
    {' '}
    <Icon name={icon} size={12} />
    <span className="sr-only">, {text}</span>
  </>
)

/** The text of a message, or what it has instead. */
function summaryOf({ text, attachments, deletedAt }: Message, nameOf: (userId: string) => string) {
  if (deletedAt) return 'a deleted message'
  return text === '' && attachments.length > 0
    ? plural(attachments.length, 'attachment')
    : plainText(text, nameOf)
}

const UnreadBadge = ({ count }: { count: number }) => (
  <span className="badge">
    <span aria-hidden="true">{count > 99 ? '99+' : count}</span>
    <span className="sr-only">, {plural(count, 'unread message')}</span>
  </span>
)
