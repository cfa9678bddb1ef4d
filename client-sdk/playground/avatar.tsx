import { useConnection, useLastActive } from '@parley/client/react'
import { agoOf } from './format.ts'

type Props = { id: string; name: string; size?: 'small' | 'medium' | 'large' }

/** The initials of a name, in a colour that depends on the id. */
export function Avatar({ id, name, size = 'medium' }: Props) {
  const initials = name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => word[0]?.toUpperCase())
    .join('')
  return (
    <span className={`avatar avatar-${size} hue-${hueOf(id)}`} aria-hidden="true">
      {initials}
    </span>
  )
}

/** An avatar with a dot that shows whether its user is online, as long as that is known. */
export function PresentAvatar({ id, name, size = 'medium' }: Props) {
  const presence = useKnownPresence(id)
  const avatar = <Avatar id={id} name={name} size={size} />
  if (!presence)
    return (
      <span className="present" role="img" aria-label={name}>
        {avatar}
      </span>
    )
  const { isOnline } = presence
  return (
    <span
      className="present"
      role="img"
      aria-label={`${name}, ${isOnline ? 'online' : 'offline'}`}
      title={`${name} is ${isOnline ? 'online' : 'offline'}`}
    >
      {avatar}
      <span className={isOnline ? 'dot dot-online' : 'dot'} />
    </span>
  )
}

/** Says whether a user is online, or else when they were last active. */
export function LastActive({ userId }: { userId: string }) {
  const presence = useKnownPresence(userId)
  if (!presence) return 'Presence unknown'
  return presence.isOnline ? 'Online' : agoOf(presence.lastActiveAt)
}

/** The presence of a user; undefined while not connected, when it may have changed. */
function useKnownPresence(userId: string) {
  const presence = useLastActive(userId)
  const { status } = useConnection()
  return status === 'live' ? presence : undefined
}

const HUES = 6
const hueOf = (id: string) =>
  [...id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9_973, 7) % HUES
