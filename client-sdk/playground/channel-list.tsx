import type { Channel } from '@parley/client'
import { useChannels } from '@parley/client/react'
import type { KeyboardEvent } from 'react'
import { PresentAvatar } from './avatar.tsx'
import { firstName, plural, shortTimeOf } from './format.ts'
import { Icon, type IconName } from './icons.tsx'
import { useSession } from './session.ts'

type Props = {
  openId: string | undefined
  onOpen: (channelId: string) => void
  onCreate: () => void
  onBrowse: () => void
}

/** The user's channels, newest activity first. Arrow keys move in it. */
export function ChannelList({ openId, onOpen, onCreate, onBrowse }: Props) {
  const { items, status, hasMore, loadMore } = useChannels()
  return (
    <nav className="sidebar" aria-label="Channels">
      <div className="sidebar-head">
        <h3>Channels</h3>
        <button
          type="button"
          className="icon-button"
          aria-label="Browse channels"
          title="Browse channels"
          onClick={onBrowse}
        >
          <Icon name="compass" />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="New channel"
          title="New channel"
          onClick={onCreate}
        >
          <Icon name="plus" />
        </button>
      </div>
      {items.length === 0 && status === 'loading' && <Skeletons />}
      {items.length === 0 && status === 'ready' && (
        <p className="empty">No channels yet. Make one, or browse those you may join.</p>
      )}
      <ul onKeyDown={moveFocus}>
        {items.map((channel) => (
          <li key={channel.id}>
            <ChannelRow channel={channel} isOpen={channel.id === openId} onOpen={onOpen} />
          </li>
        ))}
      </ul>
      {hasMore && items.length > 0 && (
        <button
          type="button"
          className="button button-quiet"
          onClick={() => loadMore().catch(() => {})}
        >
          More channels
        </button>
      )}
    </nav>
  )
}

function ChannelRow({
  channel,
  isOpen,
  onOpen,
}: {
  channel: Channel
  isOpen: boolean
  onOpen: (channelId: string) => void
}) {
  const { userId: me } = useSession()
  const { id, name, unreadCount, lastMessage } = channel
  const author = lastMessage?.userId === me ? 'You' : firstName(lastMessage?.user.name ?? '')
  return (
    <button
      type="button"
      className="channel"
      aria-current={isOpen ? 'true' : undefined}
      data-unread={unreadCount > 0}
      onClick={() => onOpen(id)}
    >
      <ChannelFace channel={channel} />
      <span className="channel-name">{name}</span>
      {lastMessage && (
        <time dateTime={lastMessage.createdAt}>{shortTimeOf(lastMessage.createdAt)}</time>
      )}
      <span className="channel-last">
        {lastMessage ? `${author}: ${lastMessage.text}` : 'No messages yet'}
      </span>
      {unreadCount > 0 && (
        <span className="badge">
          <span aria-hidden="true">{unreadCount > 99 ? '99+' : unreadCount}</span>
          <span className="sr-only">, {plural(unreadCount, 'unread message')}</span>
        </span>
      )}
    </button>
  )
}

const icons: Record<Channel['type'], IconName> = {
  group: 'hash',
  messaging: 'people',
  private: 'lock',
  public: 'globe',
  team: 'people',
  livestream: 'bolt',
}

/** Of a direct message the other one; else a sign of its type. */
export function ChannelFace({ channel }: { channel: Pick<Channel, 'type' | 'members'> }) {
  const { userId } = useSession()
  const other =
    channel.type === 'messaging'
      ? channel.members?.find((member) => member.userId !== userId)
      : undefined
  if (other) return <PresentAvatar id={other.userId} name={other.user.name} />
  return (
    <span className="channel-sign">
      <Icon name={icons[channel.type]} size={16} />
    </span>
  )
}

/** To the next of the buttons in a list, or the one before. */
export function moveFocus(event: KeyboardEvent<HTMLElement>) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (!step) return
  const buttons = [
    ...event.currentTarget.querySelectorAll<HTMLElement>('button, input, [data-row]'),
  ]
  const next = buttons[buttons.indexOf(document.activeElement as HTMLElement) + step] // -1 when it is none of them
  if (!next) return
  event.preventDefault()
  next.focus()
}

const Skeletons = () => (
  <div className="skeletons" role="status" aria-label="Loading channels">
    {['a', 'b', 'c'].map((key) => (
      <span key={key} className="skeleton" />
    ))}
  </div>
)
