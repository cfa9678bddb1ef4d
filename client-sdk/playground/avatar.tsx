import { usePresence, useStore } from '@parley/client/react'
import { useSession } from './session.ts'

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

/** An avatar with a dot that shows whether its user is online. */
export function PresentAvatar({ id, name, size = 'medium' }: Props) {
  const { userId, network } = useSession()
  const isUp = useStore(network.isUp)
  const isOnline = usePresence(id) && (isUp || id !== userId)
  return (
    <span
      className="present"
      role="img"
      aria-label={`${name}, ${isOnline ? 'online' : 'offline'}`}
      title={`${name} is ${isOnline ? 'online' : 'offline'}`}
    >
      <Avatar id={id} name={name} size={size} />
      <span className={isOnline ? 'dot dot-online' : 'dot'} />
    </span>
  )
}

const HUES = 6
const hueOf = (id: string) =>
  [...id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9_973, 7) % HUES
