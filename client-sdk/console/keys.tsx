import { useState } from 'react'
import { FormDialog } from './form-dialog.tsx'
import { isPast } from './format.ts'
import { KeyForm, titleOfScopes } from './key-form.tsx'
import { Secret } from './secret.tsx'
import { api } from './server.ts'
import { endOf } from './short-id.tsx'
import { type Column, Table } from './table.tsx'
import type { ApiKey, AppRecord } from './types.ts'
import { When } from './when.tsx'

type Props = { app: AppRecord; onChange: () => void }
type Open = { dialog: 'create' } | { dialog: 'edit' | 'delete'; key: ApiKey } | undefined

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
            onClick={() => setOpen({ dialog: 'edit', key })}
          >
            Edit
          </button>
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
        <Table
          label="API keys"
          columns={columns}
          rows={app.keys}
          keyOf={({ id }) => id}
          isStacked
        />
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
      {open?.dialog === 'edit' && (
        <KeyForm
          title={`Edit ${titleOf(open.key)}`}
          submit="Save"
          before={open.key}
          onSubmit={async (changes) => {
            await api.apps.updateKey({ appId: app.id, keyId: open.key.id, ...changes })
            close()
            onChange()
          }}
          onClose={close}
        />
      )}
      {open?.dialog === 'delete' && (
        <FormDialog
          title={`Revoke ${titleOf(open.key)}?`}
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

const titleOf = ({ id, name }: ApiKey) => (name ? `“${name}”` : `the key …${endOf(id)}`)

const keyColumns: Column<ApiKey>[] = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <>
        {name ?? <span className="muted">Without a name</span>}
        <span className="id below">{id}</span>
      </>
    ),
  },
  {
    title: 'May',
    cell: ({ scopes }) => titleOfScopes(scopes),
  },
  { title: 'Last used', cell: ({ lastUsedAt }) => <When iso={lastUsedAt} /> },
  {
    title: 'Expires',
    cell: ({ expiresAt }) => <Expiry iso={expiresAt} />,
    isMinor: true,
  },
  { title: 'Created', cell: ({ createdAt }) => <When iso={createdAt} />, isMinor: true },
]

/** A key that has expired is listed until it is revoked. */
const Expiry = ({ iso }: { iso: string | null }) => (
  <>
    <When iso={iso} />{' '}
    {iso !== null && isPast(iso) && <span className="badge badge-bad">Expired</span>}
  </>
)

function CreateKey({ appId, onClose }: { appId: string; onClose: () => void }) {
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
  return (
    <KeyForm
      title="New API key"
      submit="Create key"
      before={{ name: null, scopes: ['full'], expiresAt: null }}
      onSubmit={async (given) => setApiKey((await api.apps.createKey({ appId, ...given })).apiKey)}
      onClose={onClose}
    />
  )
}
