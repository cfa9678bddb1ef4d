import { usePins } from '@parley/client/react'
import { LastActive, PresentAvatar } from './avatar.tsx'
import { ChannelIcon } from './channel-icon.tsx'
import { plural } from './format.ts'
import { IconButton } from './icon-button.tsx'
import { Icon } from './icons.tsx'
import { useOpenChannel } from './open-channel.ts'

type Props = {
  onBack: () => void
  onInvite: () => void
  /** Opens or closes a drawer. */
  onToggle: (drawer: 'pins' | 'details') => void
}

/** The name of the open channel, its members, and the buttons for invites and pins. */
export function ChannelHeader({ onBack, onInvite, onToggle }: Props) {
  const { channel, members, me } = useOpenChannel()
  const isDirect = channel.type === 'messaging'
  const other = isDirect ? members.find(({ userId }) => userId !== me) : undefined
  return (
    <header className="room-header">
      <button
        type="button"
        className="icon-button room-back"
        aria-label="Back to channels"
        onClick={onBack}
      >
        <Icon name="back" />
      </button>
      <ChannelIcon channel={channel} />
      <div className="room-title">
        <h3>{channel.name}</h3>
        <p>
          {other ? (
            <LastActive userId={other.userId} />
          ) : (
            (channel.description ?? plural(channel.memberCount, 'member'))
          )}
        </p>
      </div>
      {!other && <MemberAvatars />}
      {!isDirect && <IconButton label="Invite people" icon="personAdd" onClick={onInvite} />}
      <PinsButton onClick={() => onToggle('pins')} />
      <IconButton label="Channel details" icon="info" onClick={() => onToggle('details')} />
    </header>
  )
}

function MemberAvatars() {
  const { members } = useOpenChannel()
  return (
    <ul className="faces" aria-label="Members">
      {members.slice(0, 4).map(({ userId, user }) => (
        <li key={userId}>
          <PresentAvatar id={userId} name={user.name} size="small" />
        </li>
      ))}
    </ul>
  )
}

function PinsButton({ onClick }: { onClick: () => void }) {
  const { channel } = useOpenChannel()
  const { items } = usePins(channel.id)
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={`Pinned messages: ${items.length}`}
      title="Pinned messages"
      onClick={onClick}
    >
      <Icon name="pin" />
      {items.length > 0 && <span className="count">{items.length}</span>}
    </button>
  )
}
