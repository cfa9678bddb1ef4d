import { type FormEvent, useState } from 'react'
import { Refusal } from '../playground/dialog.tsx'
import { FormDialog, TextField, useRefusal } from './form-dialog.tsx'
import { addressOf } from './route.ts'
import { api } from './server.ts'
import { useAttempt } from './session.tsx'
import type { AppRecord } from './types.ts'

type Props = { app: AppRecord; onChange: () => void }

/** The operator's settings of an app, and its deletion. */
export function Settings(props: Props) {
  const { name, settings } = props.app
  const [isSaved, setSaved] = useState(false)
  return (
    <>
      {/* The key resets the fields after a reload: old ones would undo the changes of others. */}
      <Fields key={JSON.stringify([name, settings])} {...props} {...{ isSaved, setSaved }} />
      <DangerZone {...props} />
    </>
  )
}

const rates = {
  tokens: 'Tokens of a key and address',
  messages: 'Messages of a user',
  requests: 'Other calls of a user or key',
  appends: 'Appends of a user to messages that grow',
  appRequests: 'Calls of the whole app',
} as const
type Rate = keyof typeof rates
const rateNames = Object.keys(rates) as Rate[] // these are all its keys

type FieldsProps = Props & { isSaved: boolean; setSaved: (isSaved: boolean) => void }

function Fields({ app, onChange, isSaved, setSaved }: FieldsProps) {
  const { settings } = app
  const { refusal, refuse, forget } = useRefusal()
  const [name, setName] = useState(app.name)
  const [days, setDays] = useState(textOf(settings.messageRetentionDays))
  const [access, setAccess] = useState(settings.userAdminAccess)
  const [limits, setLimits] = useState(() => mapRates((rate) => textOf(settings.rateLimits[rate])))
  const [isConfirming, setConfirming] = useState(false)
  const keptDays = numberOf(days)
  const save = async () => {
    const rateLimits = changed(
      mapRates((rate) => numberOf(limits[rate])),
      settings.rateLimits,
    )
    const changes = {
      ...changed({ messageRetentionDays: keptDays, userAdminAccess: access }, settings),
      ...(hasAny(rateLimits) && { rateLimits }),
    }
    await api.apps.update({
      appId: app.id,
      ...changed({ name: name.trim() }, app),
      // Send only changed settings, so the audit log names only those.
      ...(hasAny(changes) && { settings: changes }),
    })
    setConfirming(false)
    setSaved(true)
    onChange()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setSaved(false)
    forget()
    if (isShorter(keptDays, settings.messageRetentionDays)) setConfirming(true)
    else save().catch(refuse)
  }
  return (
    <>
      {isConfirming && (
        <FormDialog
          title={`Delete messages older than ${days} days?`}
          submit="Delete and save"
          isDangerous
          onSubmit={save}
          onClose={() => setConfirming(false)}
        >
          <p className="muted">
            They are deleted for all users of <strong>{app.name}</strong>, within minutes. This
            cannot be undone.
          </p>
        </FormDialog>
      )}
      <form className="card section" onSubmit={submit} onChange={() => setSaved(false)}>
        <div className="settings">
          <TextField label="Name" value={name} onChange={setName} isRequired />
          <TextField
            label="Keep messages for days"
            type="number"
            value={days}
            onChange={setDays}
            placeholder="For ever"
            hint="Older messages are deleted by a job, as if their authors had."
          />
          <label className="field">
            <span className="field-name">Users may be administered by</span>
            <select
              className="input"
              value={access ?? ''}
              onChange={({ target: { value } }) =>
                setAccess(value === 'bearer' || value === 'server' ? value : null)
              }
            >
              <option value="">as the server is configured</option>
              <option value="server">API keys and admin tokens</option>
              <option value="bearer">every user</option>
            </select>
          </label>
          <fieldset className="field">
            <legend>Limits a minute</legend>
            {rateNames.map((rate) => (
              <TextField
                key={rate}
                label={rates[rate]}
                type="number"
                value={limits[rate]}
                onChange={(value) => setLimits({ ...limits, [rate]: value })}
                placeholder="As the server is configured"
              />
            ))}
            <span className="muted hint">0 turns a limit off.</span>
          </fieldset>
          <Refusal refusal={refusal} />
          <div className="actions">
            {isSaved && <span className="badge badge-good">Saved</span>}
            <button type="submit" className="button">
              Save
            </button>
          </div>
        </div>
      </form>
    </>
  )
}

function DangerZone({ app, onChange }: Props) {
  const [dialog, setDialog] = useState<'disable' | 'delete'>()
  const attempt = useAttempt()
  const close = () => setDialog(undefined)
  const setEnabled = async (enabled: boolean) => {
    await api.apps.update({ appId: app.id, enabled })
    onChange()
  }
  return (
    <section className="card section danger-zone" aria-labelledby="danger">
      <header>
        <h3 id="danger">{app.enabled ? 'Disable or delete' : 'Enable or delete'}</h3>
        {app.enabled ? (
          <button
            type="button"
            className="button button-quiet"
            onClick={() => setDialog('disable')}
          >
            Disable
          </button>
        ) : (
          <button type="button" className="button" onClick={() => void attempt(setEnabled(true))}>
            Enable
          </button>
        )}
        <button type="button" className="button button-danger" onClick={() => setDialog('delete')}>
          Delete
        </button>
      </header>
      <p className="muted">
        A disabled app loses nothing: its users and backends are refused until it is enabled again.
      </p>
      {dialog === 'disable' && (
        <FormDialog
          title={`Disable ${app.name}?`}
          submit="Disable"
          isDangerous
          onSubmit={() => setEnabled(false).then(close)}
          onClose={close}
        >
          <p className="muted">Its sockets are closed, and all calls are refused.</p>
        </FormDialog>
      )}
      {dialog === 'delete' && <DeleteApp app={app} onClose={close} />}
    </section>
  )
}

function DeleteApp({ app, onClose }: { app: AppRecord; onClose: () => void }) {
  const [typed, setTyped] = useState('')
  return (
    <FormDialog
      title={`Delete ${app.name}?`}
      submit="Delete for good"
      isDangerous
      isReady={typed === app.name}
      onSubmit={async () => {
        await api.apps.delete({ appId: app.id })
        location.hash = addressOf([])
      }}
      onClose={onClose}
    >
      <p className="muted">
        All users, channels and messages are deleted. This cannot be undone. Type{' '}
        <strong>{app.name}</strong> to confirm.
      </p>
      <TextField label="Name of the app" value={typed} onChange={setTyped} />
    </FormDialog>
  )
}

/** Whether messages are deleted that were kept before. */
const isShorter = (days: number | null, before: number | null) =>
  days !== null && (before === null || days < before)

/** Only what differs from before: somebody else may have changed the rest meanwhile. */
const changed = <T extends object>(given: T, before: { [Name in keyof T]: unknown }) =>
  Object.fromEntries(
    Object.entries(given).filter(([name, value]) => value !== before[name as keyof T]),
  ) as Partial<T> // of its entries

const hasAny = (fields: object) => Object.keys(fields).length > 0

const textOf = (value: number | null) => (value === null ? '' : String(value))
const numberOf = (text: string) => (text.trim() === '' ? null : Number(text))
const mapRates = <T,>(map: (rate: Rate) => T) =>
  Object.fromEntries(rateNames.map((rate) => [rate, map(rate)])) as Record<Rate, T> // all rates
