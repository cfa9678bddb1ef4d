import { useState } from 'react'
import { FormDialog, TextField } from './form-dialog.tsx'
import { Secret } from './secret.tsx'
import { api } from './server.ts'
import { ShortId } from './short-id.tsx'
import { type Column, Table } from './table.tsx'
import type { ApiKey, AppRecord } from './types.ts'
import { When } from './when.tsx'

type Scope = ApiKey['scopes'][number]
const scopes: Record<Scope, { title: string; about: string }> = {
  full: { title: 'Full', about: 'Everything that a backend may do' },
  read: { title: 'Read', about: 'Operations that only read' },
  mint: { title: 'Mint', about: 'Tokens for users, and nothing else' },
}

type Props = { app: AppRecord; onChange: () => void }
type Open = { dialog: 'create' } | { dialog: 'delete'; key: ApiKey } | undefined

/** The API keys of an app. */
export function Keys({ app, onChange }: Props) {
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const columns: Column<ApiKey>[] = [
    ...keyColumns,
    {
      title: '',
      cell: (key) => (
        <div className="actions">
          <button
            type="button"
            className="button button-quiet button-small"
            onClick={() => setOpen({ dialog: 'delete', key })}
          >
            Revoke
          </button>
        </div>
      ),
    },
  ]
  return (
    <>
      <header className="page-head">
        <p className="muted">Backends send one as X-API-Key. They are not for browsers.</p>
        <button type="button" className="button" onClick={() => setOpen({ dialog: 'create' })}>
          New key
        </button>
      </header>
      {app.keys.length === 0 ? (
        <p className="empty">No keys: no backend can call this app.</p>
      ) : (
        <Table label="API keys" columns={columns} rows={app.keys} keyOf={({ id }) => id} />
      )}
      {open?.dialog === 'create' && (
        <CreateKey
          appId={app.id}
          onClose={() => {
            close()
            onChange()
          }}
        />
      )}
      {open?.dialog === 'delete' && (
        <FormDialog
          title={`Revoke ${open.key.name ?? 'this key'}?`}
          submit="Revoke"
          isDangerous
          onSubmit={async () => {
            await api.apps.deleteKey({ appId: app.id, keyId: open.key.id })
            close()
            onChange()
          }}
          onClose={close}
        >
          <p className="muted">
            Backends that use it are refused from now on. Tokens of users stay valid.
          </p>
        </FormDialog>
      )}
    </>
  )
}

const keyColumns: Column<ApiKey>[] = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <>
        {name ?? <span className="muted">Without a name</span>}
        <span className="id minor">{id}</span>
        <span className="narrow-only">
          <ShortId id={id} />
        </span>
      </>
    ),
  },
  {
    title: 'May',
    cell: (key) => key.scopes.map((scope) => scopes[scope].title).join(', '),
  },
  { title: 'Last used', cell: ({ lastUsedAt }) => <When iso={lastUsedAt} /> },
  {
    title: 'Expires',
    cell: ({ expiresAt }) => <When iso={expiresAt} />,
    isMinor: true,
  },
  { title: 'Created', cell: ({ createdAt }) => <When iso={createdAt} />, isMinor: true },
]

function CreateKey({ appId, onClose }: { appId: string; onClose: () => void }) {
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<Scope>('full')
  const [expires, setExpires] = useState('')
  const [apiKey, setApiKey] = useState<string>()
  if (apiKey !== undefined)
    return (
      <Secret
        title="The new key"
        secret={apiKey}
        text="It is shown only now: the server keeps a hash of it."
        onClose={onClose}
      />
    )
  const create = async () => {
    const created = await api.apps.createKey({
      appId,
      ...(name.trim() !== '' && { name: name.trim() }),
      scopes: [chosen],
      ...(expires !== '' && { expiresAt: new Date(expires).toISOString() }),
    })
    setApiKey(created.apiKey)
  }
  return (
    <FormDialog title="New API key" submit="Create key" onSubmit={create} onClose={onClose}>
      <TextField label="Name" value={name} onChange={setName} placeholder="Billing" />
      <fieldset className="field">
        <legend>It may</legend>
        <div className="kinds">
          {Object.entries(scopes).map(([scope, { title, about }]) => (
            <label key={scope} className="kind">
              <input
                type="radio"
                name="scope"
                checked={chosen === scope}
                onChange={() => setChosen(scope as Scope)} // its keys are the scopes
              />
              <strong>{title}</strong>
              <span>{about}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <TextField
        label="Expires"
        type="date"
        value={expires}
        onChange={setExpires}
        hint="Leave it empty for a key that does not expire."
      />
    </FormDialog>
  )
}
