import { useChat } from '@parley/client/react'
import { type FormEvent, useState } from 'react'
import { useOpenChannel } from './open-channel.ts'
import { useToasts } from './toasts.tsx'

const kinds = {
  messaging: 'Direct messages',
  group: 'Group: any member can add people',
  private: 'Private: its owners add people',
  public: 'Public: anyone can find and join it',
  team: 'Team: for the people of a workspace',
  livestream: 'Livestream: anyone can watch',
}

/** The name and the description of a channel, which its owners and moderators can change. */
export function DetailsForm() {
  const { channel } = useOpenChannel()
  const [isEditing, setEditing] = useState(false)
  const mayEdit = channel.type !== 'messaging' && channel.role !== 'member' && channel.role !== null
  if (isEditing) return <Form onDone={() => setEditing(false)} />
  return (
    <section aria-label="About">
      <h4 className="details-name">{channel.name}</h4>
      {channel.description && <p>{channel.description}</p>}
      <p className="muted">{kinds[channel.type]}</p>
      {channel.frozen && <p className="muted">Frozen: only the backend can write here.</p>}
      {mayEdit && (
        <button
          type="button"
          className="button button-quiet button-small"
          onClick={() => setEditing(true)}
        >
          Edit
        </button>
      )}
    </section>
  )
}

function Form({ onDone }: { onDone: () => void }) {
  const { channel } = useOpenChannel()
  const { api } = useChat()
  const { attempt } = useToasts()
  const [name, setName] = useState(channel.name)
  const [description, setDescription] = useState(channel.description ?? '')
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const change = { name: name.trim(), description: description.trim() || null }
    if (await attempt(api.channels.update({ channelId: channel.id, ...change }))) onDone()
  }
  return (
    <form className="details-form" aria-label="Edit the channel" onSubmit={save}>
      <label className="field">
        <span className="field-name">Name</span>
        <input
          className="input"
          // biome-ignore lint/a11y/noAutofocus: the user opened it to type
          autoFocus
          maxLength={255}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <label className="field">
        <span className="field-name">What it is about</span>
        <textarea
          className="input"
          rows={3}
          maxLength={1_000}
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
      </label>
      <p className="pin-actions">
        <button type="submit" className="button button-small" disabled={name.trim() === ''}>
          Save
        </button>
        <button type="button" className="button button-small button-quiet" onClick={onDone}>
          Cancel
        </button>
      </p>
    </form>
  )
}
