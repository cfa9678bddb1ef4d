import { useChat } from '@parley/client/react'
import { useEffect, useState } from 'react'
import { ConfirmDialog } from './confirm.tsx'
import { DetailsForm } from './details-form.tsx'
import { Drawer } from './drawer.tsx'
import { plural } from './format.ts'
import { Icon } from './icons.tsx'
import { MemberList } from './member-list.tsx'
import { useOpenChannel } from './open-channel.ts'
import { useToasts } from './toasts.tsx'

type Props = { onInvite: () => void; onClose: () => void }

/** A channel's settings and members, and the user's means to change them. */
export function Details({ onInvite, onClose }: Props) {
  const { channel } = useOpenChannel()
  const isDirect = channel.type === 'messaging'
  return (
    <Drawer title="Details" onClose={onClose}>
      <div className="details">
        <DetailsForm key={channel.id} />
        <OwnSettings />
        <section aria-label="Members of the channel">
          <h4>{plural(channel.memberCount, 'member')}</h4>
          <MemberList />
          {!isDirect && (
            <button type="button" className="button button-quiet" onClick={onInvite}>
              <Icon name="personAdd" size={16} /> Add people
            </button>
          )}
        </section>
        {!isDirect && <Ending />}
      </div>
    </Drawer>
  )
}

/** The user's own settings of the channel, which nobody else sees. */
function OwnSettings() {
  const { channel } = useOpenChannel()
  const { api } = useChat()
  const { attempt } = useToasts()
  const set = (change: { starred?: boolean; muted?: boolean }) =>
    attempt(api.channels.updateSettings({ channelId: channel.id, ...change }))
  return (
    <section aria-label="For you">
      <h4>For you</h4>
      <Setting
        name="Starred"
        hint="Marked in your list"
        isOn={channel.starred}
        onChange={(starred) => set({ starred })}
      />
      <Setting
        name="Muted"
        hint="No notifications of new messages"
        isOn={channel.muted}
        onChange={(muted) => set({ muted })}
      />
    </section>
  )
}

type SettingProps = {
  name: string
  hint: string
  isOn: boolean
  /** Resolves with undefined if it failed. */
  onChange: (isOn: boolean) => Promise<unknown>
}

/** A checkbox that shows what was chosen, until the server has stored or refused it. */
function Setting({ name, hint, isOn, onChange }: SettingProps) {
  const [chosen, setChosen] = useState<boolean>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is stored replaces the choice
  useEffect(() => setChosen(undefined), [isOn])
  const change = async (isChosen: boolean) => {
    setChosen(isChosen)
    if ((await onChange(isChosen)) === undefined) setChosen(undefined)
  }
  return (
    <label className="setting">
      <span>
        {name} <small className="muted">{hint}</small>
      </span>
      <input
        type="checkbox"
        checked={chosen ?? isOn}
        onChange={({ target }) => void change(target.checked)}
      />
    </label>
  )
}

/** Leaving the channel, and for its owners deleting it. */
function Ending() {
  const { channel } = useOpenChannel()
  const { api } = useChat()
  const { attempt } = useToasts()
  const [asked, setAsked] = useState<'leave' | 'delete'>()
  const channelId = channel.id
  return (
    <section className="ending">
      <button type="button" className="button button-quiet" onClick={() => setAsked('leave')}>
        Leave
      </button>
      {channel.role === 'owner' && (
        <button
          type="button"
          className="button button-quiet button-warn"
          onClick={() => setAsked('delete')}
        >
          Delete channel
        </button>
      )}
      {asked === 'leave' && (
        <ConfirmDialog
          title={`Leave ${channel.name}?`}
          text="You will see neither its messages nor new ones until you are back."
          action="Leave"
          onConfirm={() => void attempt(api.members.leave({ channelId }))}
          onClose={() => setAsked(undefined)}
        />
      )}
      {asked === 'delete' && (
        <ConfirmDialog
          title={`Delete ${channel.name}?`}
          text="It is deleted for everyone, with all its messages."
          action="Delete channel"
          onConfirm={() => void attempt(api.channels.delete({ channelId }))}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  )
}
