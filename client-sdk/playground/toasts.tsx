import { isChatError } from '@parley/client'
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

const plainWords: Partial<Record<string, string>> = {
  NETWORK_ERROR: 'That needs the network. Try again when you are back online.',
  RATE_LIMITED: 'That was a lot at once. Try again in a moment.',
  FORBIDDEN: 'You are not allowed to do that here.',
  NOT_FOUND: 'That is not there any more.',
  CONFLICT: 'It was changed elsewhere meanwhile.',
  PAYLOAD_TOO_LARGE: 'That is too long.',
  UNAVAILABLE: 'The server is busy. Try again in a moment.',
  INTERNAL_ERROR: 'Something went wrong on the server. Try again in a moment.',
}

/** What went wrong, for a person who knows no error codes. */
export function plainWordsOf(error: unknown) {
  const { text, code } = describeError(error)
  return plainWords[code] ?? text
}

/** The text and the code of an error, to show them. */
export const describeError = (error: unknown) =>
  isChatError(error)
    ? { text: error.message, code: error.code }
    : { text: String(error), code: 'ERROR' }

export function useToasts(): ToastActions {
  const actions = useContext(Context)
  if (!actions) throw new Error('useToasts needs Toasts above')
  return actions
}
