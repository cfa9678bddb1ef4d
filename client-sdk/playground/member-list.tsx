import type { Member } from '@parley/client'
import { useChat } from '@parley/client/react'
import { PresentAvatar } from './avatar.tsx'
import { IconButton } from './icon-button.tsx'
import { useNavigation } from './navigation.ts'
import { useOpenChannel } from './open-channel.ts'
import { useToasts } from './toasts.tsx'

const roles = ['owner', 'moderator', 'member'] as const

/** The members of the open channel. Owners change roles; owners and moderators remove others. */
export function MemberList() {
  const { members } = useOpenChannel()
  return (
    <ul className="member-list" aria-label="Members and roles">
      {members.map((member) => (
        <MemberRow key={member.userId} member={member} />
      ))}
    </ul>
  )
}

function MemberRow({ member: { userId, user, role } }: { member: Member }) {
  const { channel, me } = useOpenChannel()
  const { api } = useChat()
  const { attempt } = useToasts()
  const { openProfile } = useNavigation()
  const isMe = userId === me
  const isDirect = channel.type === 'messaging'
  const mayRemove =
    !isMe && (channel.role === 'owner' || (channel.role === 'moderator' && role === 'member'))
  const channelId = channel.id
  return (
    <li>
      <PresentAvatar id={userId} name={user.name} size="small" />
      <button type="button" className="member-name" onClick={() => openProfile(userId)}>
        {user.name} {isMe && <span className="muted">you</span>}
      </button>
      {channel.role === 'owner' && !isMe && !isDirect ? (
        <select
          className="role"
          aria-label={`Role of ${user.name}`}
          value={role}
          onChange={({ target }) => {
            const chosen = roles.find((known) => known === target.value)
            void attempt(api.members.update({ channelId, userId, role: chosen }))
          }}
        >
          {roles.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      ) : (
        !isDirect && <span className="muted role-name">{role}</span>
      )}
      {mayRemove && !isDirect && (
        <IconButton
          label={`Remove ${user.name}`}
          icon="close"
          size={15}
          onClick={() => void attempt(api.members.remove({ channelId, userId }))}
        />
      )}
    </li>
  )
}
