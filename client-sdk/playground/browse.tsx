import type { Channel } from '@parley/client'
import { useChat } from '@parley/client/react'
import { type FormEvent, useCallback, useEffect, useState } from 'react'
import { ChannelIcon } from './channel-icon.tsx'
import { Dialog, Refusal } from './dialog.tsx'
import { plural } from './format.ts'
import { plainWordsOf } from './toasts.tsx'

type Props = { onDone: (channelId: string) => void; onClose: () => void }

/** The channels that the user can join. An invite to a workspace adds more. */
export function BrowseDialog({ onDone, onClose }: Props) {
  const { api } = useChat()
  const [channels, setChannels] = useState<Channel[]>()
  const [invite, setInvite] = useState('')
  const [refusal, setRefusal] = useState<{ text: string }>()
  const refuse = useCallback((error: unknown) => setRefusal({ text: plainWordsOf(error) }), [])
  const search = useCallback(
    () =>
      api.channels
        .list({ discover: true, limit: 100 })
        .then(({ channels }) => setChannels(channels.filter(({ role }) => role === null)), refuse),
    [api, refuse],
  )
  useEffect(() => void search(), [search])

  const join = (channelId: string) =>
    api.members.join({ channelId }).then(() => onDone(channelId), refuse)
  const accept = (event: FormEvent) => {
    event.preventDefault()
    setRefusal(undefined)
    const token = invite.trim().split('/').at(-1) ?? ''
    api.invites.accept({ token }).then(() => {
      setInvite('')
      return search()
    }, refuse)
  }
  return (
    <Dialog title="Browse channels" onClose={onClose}>
      <JoinableChannels channels={channels} onJoin={join} />
      <form onSubmit={accept} className="accept">
        <label className="field">
          <span className="field-name">Have an invite link to a workspace?</span>
          <input
            className="input"
            value={invite}
            placeholder="Paste it here"
            onChange={(event) => setInvite(event.target.value)}
          />
        </label>
        <button type="submit" className="button button-quiet" disabled={invite.trim() === ''}>
          Accept
        </button>
      </form>
      <Refusal refusal={refusal} />
    </Dialog>
  )
}

type JoinableChannelsProps = {
  channels: Channel[] | undefined
  onJoin: (channelId: string) => void
}

const JoinableChannels = ({ channels, onJoin }: JoinableChannelsProps) => (
  <>
    {channels?.length === 0 && (
      <p className="empty">There is nothing to join: you are in every open channel.</p>
    )}
    <ul className="invitees" aria-label="Channels to join">
      {channels?.map((channel) => (
        <li key={channel.id} className="person">
          <ChannelIcon channel={channel} />
          <span>
            {channel.name} <small className="muted">{plural(channel.memberCount, 'member')}</small>
          </span>
          <button
            type="button"
            className="button button-small"
            aria-label={`Join ${channel.name}`}
            onClick={() => onJoin(channel.id)}
          >
            Join
          </button>
        </li>
      ))}
    </ul>
  </>
)
