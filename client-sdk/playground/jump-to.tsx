import type { Channel, User } from '@parley/client'
import { useChannels } from '@parley/client/react'
import { useEffect, useState } from 'react'
import { PresentAvatar } from './avatar.tsx'
import { ChannelIcon } from './channel-icon.tsx'
import { Dialog } from './dialog.tsx'
import { plural } from './format.ts'
import { usePeople } from './people.tsx'
import { SearchList } from './search-list.tsx'

type Destination = { channel: Channel } | { person: User }
type Props = {
  onChannel: (channelId: string) => void
  onPerson: (userId: string) => void
  onClose: () => void
}

/** Finds channels and people by their names: the channels that are unread come first. */
export function JumpTo({ onChannel, onPerson, onClose }: Props) {
  const { items: channels, status, hasMore, loadMore } = useChannels()
  const { people = [] } = usePeople()
  const [query, setQuery] = useState('')
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each page there may be another
  useEffect(() => {
    if (hasMore && status === 'ready') loadMore().catch(() => {}) // those that are loaded are found
  }, [channels, hasMore, status, loadMore])
  const found = destinationsOf(channels, people).filter((to) => isMatch(nameOf(to), query))
  return (
    <Dialog title="Jump to" onClose={onClose}>
      <SearchList
        label="Search channels and people"
        placeholder="A channel or a person"
        query={query}
        onQuery={setQuery}
        found={found}
        keyOf={(to) => ('channel' in to ? to.channel.id : `@${to.person.id}`)}
        onChoose={(to) => ('channel' in to ? onChannel(to.channel.id) : onPerson(to.person.id))}
      >
        {(to) => ('channel' in to ? <Found {...to} /> : <Person {...to} />)}
      </SearchList>
    </Dialog>
  )
}

const Found = ({ channel }: { channel: Channel }) => (
  <>
    <ChannelIcon channel={channel} />
    <strong>{channel.name}</strong>
    <span className="muted">
      {channel.unreadCount > 0
        ? plural(channel.unreadCount, 'unread message')
        : kindOf(channel.type)}
    </span>
  </>
)

const Person = ({ person: { id, name } }: { person: User }) => (
  <>
    <PresentAvatar id={id} name={name} />
    <strong>{name}</strong>
    <span className="muted">@{id}</span>
  </>
)

const kindOf = (type: Channel['type']) =>
  type === 'messaging' ? 'Direct messages' : `${type[0]?.toUpperCase()}${type.slice(1)} channel`

const nameOf = (to: Destination) =>
  'channel' in to ? to.channel.name : `${to.person.name} ${to.person.id}`

/** A person with whom there is a direct message is found once: by that. */
function destinationsOf(channels: readonly Channel[], people: readonly User[]): Destination[] {
  const isUnread = ({ unreadCount }: Channel) => unreadCount > 0
  const sorted = [...channels].sort((a, b) => Number(isUnread(b)) - Number(isUnread(a)))
  const inDirect = new Set(
    channels
      .filter(({ type }) => type === 'messaging')
      .flatMap(({ members = [] }) => members.map(({ userId }) => userId)),
  )
  return [
    ...sorted.map((channel) => ({ channel })),
    ...people.filter(({ id }) => !inDirect.has(id)).map((person) => ({ person })),
  ]
}

/** Whether each word of the query begins a word of the name. */
function isMatch(name: string, query: string) {
  const words = name.toLowerCase().split(/[\s._-]+/)
  const sought = query.toLowerCase().split(/\s+/).filter(Boolean)
  return sought.every((start) => words.some((word) => word.startsWith(start)))
}
