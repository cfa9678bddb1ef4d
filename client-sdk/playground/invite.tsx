import type { Channel } from '@parley/client'
import { useChat, useMembers } from '@parley/client/react'
import { useState } from 'react'
import { Avatar } from './avatar.tsx'
import { Dialog, Refusal } from './dialog.tsx'
import { Icon } from './icons.tsx'
import { usePeople } from './people.tsx'
import { plainWordsOf } from './toasts.tsx'

/** Adds people to a channel one by one, or invites them to its workspace with a link. */
export function InviteDialog({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const { api } = useChat()
  const { items: members } = useMembers(channel.id)
  const { people, problem } = usePeople()
  const [refusal, setRefusal] = useState<{ text: string }>()
  const isMember = (id: string) => members.some(({ userId }) => userId === id)
  const add = (id: string) => {
    setRefusal(undefined)
    api.members
      .add({ channelId: channel.id, userIds: [id] })
      .catch((error) => setRefusal({ text: plainWordsOf(error) }))
  }
  return (
    <Dialog title={`Invite to ${channel.name}`} onClose={onClose}>
      {problem && <p className="muted">{problem}</p>}
      {people?.every(({ id }) => isMember(id)) && (
        <p className="muted">Everybody is in this channel already.</p>
      )}
      <ul className="invitees" aria-label="People">
        {people?.map(({ id, name }) => (
          <li key={id} className="person">
            <Avatar id={id} name={name} size="small" />
            <span>{name}</span>
            {isMember(id) ? (
              <span className="muted">Member</span>
            ) : (
              <button
                type="button"
                className="button button-small"
                aria-label={`Add ${name}`}
                onClick={() => add(id)}
              >
                Add
              </button>
            )}
          </li>
        ))}
      </ul>
      {channel.workspaceId && (
        <InviteLink
          workspaceId={channel.workspaceId}
          onRefused={(error) => setRefusal({ text: plainWordsOf(error) })}
        />
      )}
      <Refusal refusal={refusal} />
      <footer>
        <button type="button" className="button" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  )
}

type LinkProps = { workspaceId: string; onRefused: (error: unknown) => void }

/** A link that lets anyone join the workspace, and its team channels. */
function InviteLink({ workspaceId, onRefused }: LinkProps) {
  const { api } = useChat()
  const [url, setUrl] = useState<string>()
  const createLink = () =>
    api.invites.create({ workspaceId }).then(({ inviteUrl }) => setUrl(inviteUrl), onRefused)
  if (!url)
    return (
      <button type="button" className="button button-quiet" onClick={createLink}>
        <Icon name="link" /> Create an invite link to the workspace
      </button>
    )
  return (
    <label className="field">
      <span className="field-name">
        Invite link, shown only once. Paste it under “Browse channels” on the other side.
      </span>
      <input className="input" readOnly value={url} onFocus={(event) => event.target.select()} />
    </label>
  )
}
