import type { Channel } from '@parley/client'
import { PresentAvatar } from './avatar.tsx'
import { Icon, type IconName } from './icons.tsx'
import { useSession } from './session.ts'

const icons: Record<Channel['type'], IconName> = {
  group: 'hash',
  messaging: 'people',
  private: 'lock',
  public: 'globe',
  team: 'people',
  livestream: 'bolt',
}

/** The avatar of the other user for a direct message, else an icon of the channel's type. */
export function ChannelIcon({ channel }: { channel: Pick<Channel, 'type' | 'members'> }) {
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
