import { type FormEvent, useState } from 'react'
import { Refusal } from '../playground/dialog.tsx'
import { Icon } from '../playground/icons.tsx'
import { describeError } from './describe-error.ts'
import { signIn } from './server.ts'

/** Asks for the admin key, and exchanges it for a session. The key is not kept. */
export function SignIn({ onDone }: { onDone: () => void }) {
  const [adminKey, setAdminKey] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<ReturnType<typeof wrongKeyOr>>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    try {
      await signIn(adminKey.trim())
      onDone()
    } catch (error) {
      setRefusal(wrongKeyOr(error))
      setBusy(false)
    }
  }
  return (
    <main className="sign-in">
      <form className="card" onSubmit={submit}>
        <span className="logo" aria-hidden="true">
          <Icon name="thread" size={20} />
        </span>
        <h1>Parley console</h1>
        <label className="field">
          <span className="field-name">Admin key</span>
          <input
            className="input"
            type="password"
            autoComplete="current-password"
            // biome-ignore lint/a11y/noAutofocus: the page has nothing else
            autoFocus
            required
            value={adminKey}
            onChange={(event) => setAdminKey(event.target.value)}
          />
          <span className="muted hint">
            The value of <code>ADMIN_API_KEY</code>. A development server without one prints a key
            when it starts, and keeps it as <code>adminKey</code> in <code>.data/secrets.json</code>
            .
          </span>
        </label>
        <Refusal refusal={refusal} />
        <button type="submit" className="button" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  )
}

function wrongKeyOr(error: unknown) {
  const refusal = describeError(error)
  return refusal.code === 'UNAUTHORIZED' ? { text: 'This is not the admin key.' } : refusal
}
