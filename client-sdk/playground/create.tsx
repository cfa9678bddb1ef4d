import type { Channel, UserApi } from '@parley/client'
import { useChat, useMe } from '@parley/client/react'
import { type FormEvent, useState } from 'react'
import { Dialog, Refusal } from './dialog.tsx'
import { firstName } from './format.ts'
import { PeoplePicker } from './people.tsx'
import { plainWordsOf } from './toasts.tsx'

const kinds = [
  { type: 'group', title: 'Group', about: 'Any member can add people' },
  { type: 'public', title: 'Public', about: 'Anyone can find and join it' },
  { type: 'private', title: 'Private', about: 'Its owner adds people' },
  { type: 'team', title: 'Team', about: 'For the people of your workspace' },
  { type: 'messaging', title: 'Direct', about: 'You and one other person' },
] as const

type Props = { onDone: (channelId: string) => void; onClose: () => void }

/** Creates a channel of any type, and opens it. */
export function CreateDialog({ onDone, onClose }: Props) {
  const { api } = useChat()
  const me = useMe()
  const [type, setType] = useState<Channel['type']>('group')
  const [name, setName] = useState('')
  const [memberIds, setMemberIds] = useState<string[]>([])
  const [refusal, setRefusal] = useState<{ text: string }>()
  const [isBusy, setBusy] = useState(false)
  const isDirect = type === 'messaging'
  const isReady = isDirect ? memberIds.length === 1 : name.trim() !== ''

  const chooseType = (kind: Channel['type']) => {
    setType(kind)
    setMemberIds([])
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    try {
      onDone(await createChannel(api, { type, name: name.trim(), memberIds }))
    } catch (error) {
      setRefusal({ text: plainWordsOf(error) })
      setBusy(false)
    }
  }
  return (
    <Dialog title={me ? `New channel for ${firstName(me.name)}` : 'New channel'} onClose={onClose}>
      <form onSubmit={submit}>
        <KindField type={type} onChoose={chooseType} />
        {!isDirect && (
          <label className="field">
            <span className="field-name">Name</span>
            <input
              className="input"
              data-focus
              value={name}
              maxLength={255}
              placeholder="Team lunch"
              onChange={(event) => setName(event.target.value)}
            />
          </label>
        )}
        {type !== 'team' && (
          <PeoplePicker
            kind={isDirect ? 'radio' : 'checkbox'}
            chosen={memberIds}
            onChoose={setMemberIds}
          />
        )}
        <Refusal refusal={refusal} />
        <Buttons
          submit={isDirect ? 'Open' : 'Create channel'}
          isEnabled={isReady && !isBusy}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}

type ChannelFields = { type: Channel['type']; name: string; memberIds: string[] }

/** Returns the id of the new channel. */
async function createChannel(api: UserApi, { type, name, memberIds }: ChannelFields) {
  const workspace = type === 'team' ? { workspaceId: await workspaceOf(api) } : {}
  const named = type === 'messaging' ? {} : { name }
  const { id } = await api.channels.create({ type, memberIds, ...workspace, ...named })
  return id
}

type ButtonsProps = { submit: string; isEnabled: boolean; onCancel: () => void }

const Buttons = ({ submit, isEnabled, onCancel }: ButtonsProps) => (
  <footer>
    <button type="button" className="button button-quiet" onClick={onCancel}>
      Cancel
    </button>
    <button type="submit" className="button" disabled={!isEnabled}>
      {submit}
    </button>
  </footer>
)

type KindFieldProps = { type: Channel['type']; onChoose: (type: Channel['type']) => void }

const KindField = ({ type, onChoose }: KindFieldProps) => (
  <fieldset className="field">
    <legend>Kind</legend>
    <div className="kinds">
      {kinds.map((kind) => (
        <label key={kind.type} className="kind">
          <input
            type="radio"
            name="type"
            checked={type === kind.type}
            onChange={() => onChoose(kind.type)}
          />
          <strong>{kind.title}</strong>
          <span>{kind.about}</span>
        </label>
      ))}
    </div>
  </fieldset>
)

/** A workspace that the user owns or administers. It is created if there is none. */
async function workspaceOf({ workspaces }: UserApi) {
  const own = (await workspaces.list()).workspaces.find(({ role }) => role !== 'member')
  return (own ?? (await workspaces.create({ name: 'Playground', type: 'company' }))).id
}
