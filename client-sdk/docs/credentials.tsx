import { createContext, type FormEvent, type ReactNode, useContext, useState } from 'react'
import { Dialog } from '../playground/dialog.tsx'
import { Icon } from '../playground/icons.tsx'
import { useDocuments } from './context.ts'
import type { Operation, SecurityScheme } from './documents.ts'

export type Credentials = Partial<Record<SecurityScheme, string>> & {
  /** The user of the demo whose token it is. */
  demoUserId?: string
}
type CredentialsState = { credentials: Credentials; change: (next: Credentials) => void }

const KEY = 'parley-docs-credentials'
const Context = createContext<CredentialsState | null>(null)

/** The credentials of calls, kept until the tab is closed. */
export function CredentialsProvider({ children }: { children: ReactNode }) {
  const [credentials, setCredentials] = useState<Credentials>(() =>
    JSON.parse(sessionStorage.getItem(KEY) ?? '{}'),
  )
  const change = (next: Credentials) => {
    sessionStorage.setItem(KEY, JSON.stringify(next))
    setCredentials(next)
  }
  return <Context.Provider value={{ credentials, change }}>{children}</Context.Provider>
}

export function useCredentials(): CredentialsState {
  const state = useContext(Context)
  if (!state) throw new Error('useCredentials needs a CredentialsProvider above')
  return state
}

/** A token of a user of the demo. */
async function demoTokenOf(userId: string): Promise<string> {
  const response = await fetch('../playground/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ userId }),
  })
  const body = await response.json()
  if (!response.ok) throw new Error(body.error.message)
  return body.token
}

/** The headers of the first way to call an operation for which there are all credentials. */
export function headersFor({ security }: Operation, credentials: Credentials) {
  const headers: Record<SecurityScheme, (value: string) => [string, string]> = {
    bearer: (value) => ['authorization', `Bearer ${value}`],
    apiKey: (value) => ['x-api-key', value],
    userId: (value) => ['x-user-id', value],
    adminKey: (value) => ['x-admin-key', value],
  }
  // A way has no other keys.
  const ways = security.map((way) => Object.keys(way) as SecurityScheme[])
  const way = ways.find((schemes) => schemes.every((scheme) => credentials[scheme])) ?? []
  return Object.fromEntries(way.map((scheme) => headers[scheme](credentials[scheme] ?? '')))
}

/** The caller of the page's calls, in a few words. */
function describeCredentials({ demoUserId, bearer, apiKey, adminKey }: Credentials) {
  if (demoUserId) return `Demo user ${demoUserId}`
  const given = [bearer && 'token', apiKey && 'API key', adminKey && 'admin key'].filter(Boolean)
  return given.length === 0 ? 'Choose credentials' : `With ${given.join(', ')}`
}

/** A button that says whom calls are made as, and opens a dialog to change it. */
export function CredentialsButton() {
  const { credentials } = useCredentials()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button
        type="button"
        className="button button-quiet button-small"
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        <Icon name="lock" size={14} />
        {describeCredentials(credentials)}
      </button>
      {isOpen && <CredentialsDialog onClose={() => setOpen(false)} />}
    </>
  )
}

const fields = [
  { scheme: 'bearer', name: 'User token', hint: 'The token of POST /tokens' },
  { scheme: 'apiKey', name: 'API key', hint: "Your app's key, for its backend" },
  { scheme: 'userId', name: 'User id', hint: 'With the API key: act as this user' },
  { scheme: 'adminKey', name: 'Admin key', hint: "The operator's ADMIN_API_KEY" },
] as const

function CredentialsDialog({ onClose }: { onClose: () => void }) {
  const { credentials, change } = useCredentials()
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const given = new FormData(event.currentTarget)
    const entries = fields.flatMap(({ scheme }) => {
      const value = String(given.get(scheme) ?? '').trim()
      return value === '' ? [] : [[scheme, value] as const]
    })
    const { demoUserId } = credentials
    const isSameToken = given.get('bearer') === credentials.bearer
    const demo = isSameToken && demoUserId ? { demoUserId } : {}
    change({ ...Object.fromEntries(entries), ...demo })
    onClose()
  }
  return (
    <Dialog title="Credentials" onClose={onClose}>
      <DemoTokens onDone={onClose} />
      <form onSubmit={save}>
        {fields.map(({ scheme, name, hint }) => (
          <label key={scheme} className="field">
            <span className="field-name">
              {name} <span className="muted">{hint}</span>
            </span>
            <input
              className="input"
              name={scheme}
              type={scheme === 'userId' ? 'text' : 'password'}
              autoComplete="off"
              defaultValue={credentials[scheme] ?? ''}
            />
          </label>
        ))}
        <p className="muted small">They stay in this tab, and are sent to this server only.</p>
        <footer>
          <button
            type="button"
            className="button button-quiet"
            onClick={() => {
              change({})
              onClose()
            }}
          >
            Forget all
          </button>
          <button type="submit" className="button">
            Use these
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

/** Buttons for tokens of users of the demo, where there is one. */
function DemoTokens({ onDone }: { onDone: () => void }) {
  const { demoUserIds } = useDocuments()
  const { credentials, change } = useCredentials()
  const [problem, setProblem] = useState('')
  if (demoUserIds.length === 0) return null
  const use = (demoUserId: string) =>
    demoTokenOf(demoUserId).then(
      (bearer) => {
        change({ ...credentials, bearer, demoUserId })
        onDone()
      },
      (error: Error) => setProblem(error.message),
    )
  return (
    <fieldset className="field demo-users">
      <legend>Use the token of a demo user</legend>
      {demoUserIds.map((userId) => (
        <button
          key={userId}
          type="button"
          className="button button-quiet"
          onClick={() => void use(userId)}
        >
          {userId}
        </button>
      ))}
      {problem && (
        <p className="refusal" role="alert">
          {problem}
        </p>
      )}
    </fieldset>
  )
}
