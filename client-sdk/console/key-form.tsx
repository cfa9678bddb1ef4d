import { useState } from 'react'
import { FormDialog, TextField } from './form-dialog.tsx'
import { isoOf, localOf, timeZone } from './format.ts'
import type { ApiKey } from './types.ts'

type Scopes = ApiKey['scopes']
/** The uses that a key may have, by its scopes. */
const purposes: Record<string, { scopes: Scopes; title: string; about: string }> = {
  full: { scopes: ['full'], title: 'Full', about: 'Everything that a backend may do' },
  read: { scopes: ['read'], title: 'Read', about: 'Operations that only read' },
  mint: { scopes: ['mint'], title: 'Mint', about: 'Tokens for users, and nothing else' },
  both: { scopes: ['read', 'mint'], title: 'Read and mint', about: 'Reading, and tokens' },
}

const purposeOf = (scopes: Scopes) => {
  if (scopes.includes('full')) return 'full'
  return scopes.length > 1 ? 'both' : (scopes[0] ?? 'full')
}
/** Says in words what the scopes of a key allow. */
export const titleOfScopes = (scopes: Scopes) => purposes[purposeOf(scopes)]?.title

type Given = { name: string | null; scopes: Scopes; expiresAt: string | null }
type Props = {
  title: string
  submit: string
  before: Given
  /** Gets the fields that were changed. */
  onSubmit: (changes: Partial<Given>) => Promise<unknown>
  onClose: () => void
}

/** The form for an API key, a new one or one that is there. */
export function KeyForm({ title, submit, before, onSubmit, onClose }: Props) {
  const wasExpiring = before.expiresAt === null ? '' : localOf(before.expiresAt)
  const wasFor = purposeOf(before.scopes)
  const [name, setName] = useState(before.name ?? '')
  const [purpose, setPurpose] = useState(wasFor)
  const [expires, setExpires] = useState(wasExpiring)
  const send = () =>
    onSubmit({
      ...(name.trim() !== (before.name ?? '') && { name: name.trim() || null }),
      ...(purpose !== wasFor && { scopes: purposes[purpose]?.scopes ?? before.scopes }),
      // The field has no fractions of a second: a time that was not touched is not sent.
      ...(expires !== wasExpiring && { expiresAt: isoOf(expires) ?? null }),
    })
  return (
    <FormDialog title={title} submit={submit} onSubmit={send} onClose={onClose}>
      <TextField label="Name" value={name} onChange={setName} placeholder="Billing" />
      <fieldset className="field">
        <legend>It may</legend>
        <div className="kinds">
          {Object.entries(purposes).map(([key, { title, about }]) => (
            <label key={key} className="kind">
              <input
                type="radio"
                name="scope"
                checked={purpose === key}
                onChange={() => setPurpose(key)}
              />
              <strong>{title}</strong>
              <span>{about}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <TextField
        label="Expires"
        type="datetime-local"
        value={expires}
        onChange={setExpires}
        hint={`Time in ${timeZone}. Leave it empty for a key that does not expire.`}
      />
    </FormDialog>
  )
}
