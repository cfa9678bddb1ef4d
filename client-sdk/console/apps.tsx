import { useState } from 'react'
import { FormDialog, TextField } from './form-dialog.tsx'
import { addressOf } from './route.ts'
import { Secret } from './secret.tsx'
import { api } from './server.ts'
import { type Column, PagedTable } from './table.tsx'
import type { AppRecord } from './types.ts'
import { usePages } from './use-pages.ts'
import { When } from './when.tsx'

/** All apps of the server, and a form for a new one. */
export function Apps() {
  const [isCreating, setCreating] = useState(false)
  const pages = usePages(async (cursor) => {
    const { apps, nextCursor } = await api.apps.list({ limit: 100, cursor })
    return { rows: apps, nextCursor }
  }, 'apps')
  return (
    <>
      <header className="page-head">
        <h2>Apps</h2>
        <button type="button" className="button" onClick={() => setCreating(true)}>
          New app
        </button>
      </header>
      <PagedTable
        label="Apps"
        columns={columns}
        pages={pages}
        keyOf={({ id }) => id}
        empty="No apps yet. Create one to get an API key for a backend."
      />
      {isCreating && (
        <CreateDialog
          onClose={() => {
            setCreating(false)
            pages.reload()
          }}
        />
      )}
    </>
  )
}

const columns: Column<AppRecord>[] = [
  {
    title: 'Name',
    cell: ({ id, name, enabled }) => (
      <>
        <a href={addressOf(['apps', id])}>{name}</a>{' '}
        {!enabled && <span className="badge badge-bad">Disabled</span>}
      </>
    ),
  },
  { title: 'Id', cell: ({ id }) => <span className="id">{id}</span>, isMinor: true },
  { title: 'Keys', cell: ({ keys }) => keys.length, isNumber: true },
  { title: 'Created', cell: ({ createdAt }) => <When iso={createdAt} /> },
]

function CreateDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [created, setCreated] = useState<{ id: string; name: string; apiKey: string }>()
  if (created)
    return (
      <Secret
        title={`${created.name} is ready`}
        secret={created.apiKey}
        text="This is its first API key. It is shown only now: the server keeps a hash of it."
        onClose={() => {
          onClose()
          location.hash = addressOf(['apps', created.id])
        }}
      />
    )
  return (
    <FormDialog
      title="New app"
      submit="Create app"
      isReady={name.trim() !== ''}
      onSubmit={async () => setCreated(await api.apps.create({ name: name.trim() }))}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} placeholder="Acme Talk" isRequired />
    </FormDialog>
  )
}
