import { type ChatErrorCode, isChatError } from '@parley/client'
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useRef,
  useState,
} from 'react'
import { Icon } from './icons.tsx'

type Toast = { key: number; text: string }
type ToastActions = {
  /** Shows the error if an action of the user fails, and then resolves with undefined. */
  attempt: <T>(action: Promise<T>) => Promise<T | undefined>
}

const SHOWN_MS = 6_000
const Context = createContext<ToastActions | null>(null)

/** Short notices at the foot of a pane. Each disappears after SHOWN_MS. */
export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([])
  const nextKey = useRef(0)
  const remove = useCallback(
    (key: number) => setToasts((shown) => shown.filter((toast) => toast.key !== key)),
    [],
  )
  const add = useCallback(
    (text: string) => {
      const key = nextKey.current++
      setToasts((shown) => [...shown.slice(-2), { text, key }])
      setTimeout(() => remove(key), SHOWN_MS)
    },
    [remove],
  )
  const actions = useMemo<ToastActions>(
    () => ({ attempt: (action) => action.catch((error) => void add(plainWordsOf(error))) }),
    [add],
  )
  return (
    <Context.Provider value={actions}>
      {children}
      <div className="toasts" role="status">
        {toasts.map(({ key, text }) => (
          <div key={key} className="toast toast-error">
            <span>{text}</span>
            <button
              type="button"
              className="icon-button"
              aria-label="Dismiss"
              onClick={() => remove(key)}
            >
              <Icon name="close" size={14} />
            </button>
          </div>
        ))}
      </div>
    </Context.Provider>
  )
}

const plainWords: Record<Exclude<ChatErrorCode, 'FORBIDDEN'>, string> = {
  NETWORK_ERROR: 'That needs the network. Try again when you are back online.',
  TIMEOUT: 'The server takes too long to answer. Try again in a moment.',
  ABORTED: 'That was cancelled.',
  TOKEN_PROVIDER_FAILED: 'You cannot be signed in right now. Try again in a moment.',
  VALIDATION_ERROR: 'That is not accepted as it is: something is missing, too long or not allowed.',
  UNAUTHORIZED: 'You are not signed in any more. Reload the page.',
  INVALID_TOKEN: 'You are not signed in any more. Reload the page.',
  APP_DISABLED: 'This app is switched off.',
  NOT_FOUND: 'That is not there any more.',
  METHOD_NOT_ALLOWED: 'That is not possible here.',
  CONFLICT: 'It was changed elsewhere meanwhile.',
  PAYLOAD_TOO_LARGE: 'That is too long.',
  RATE_LIMITED: 'That was a lot at once. Try again in a moment.',
  INTERNAL_ERROR: 'Something went wrong on the server. Try again in a moment.',
  UNAVAILABLE: 'The server is busy. Try again in a moment.',
}

/**
 * Says what went wrong to a person who knows no error codes. FORBIDDEN keeps its message: it may be
 * the app's backend that refuses, with a reason for the author.
 */
export function plainWordsOf(error: unknown) {
  const unknown = 'Something went wrong. Try again in a moment.'
  if (!isChatError(error)) return unknown
  return error.code === 'FORBIDDEN' ? sentence(error.message) : (plainWords[error.code] ?? unknown)
}

const sentence = (text: string) =>
  text.replace(/^./u, (first) => first.toUpperCase()).replace(/[^.!?…]$/u, '$&.')

export function useToasts(): ToastActions {
  const actions = useContext(Context)
  if (!actions) throw new Error('useToasts needs Toasts above')
  return actions
}
