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

type Toast = { key: number; text: string; code?: string | undefined }
type Tell = {
  /** Says a thing that went well, or as it was asked. */
  say: (text: string) => void
  /** Tells what went wrong with something the user did; `undefined` then. */
  attempt: <T>(work: Promise<T>) => Promise<T | undefined>
}

const SHOWN_MS = 6_000
const Context = createContext<Tell | null>(null)

/** Short notices at the foot of a pane; they go by themselves. */
export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([])
  const next = useRef(0)
  const drop = useCallback(
    (key: number) => setToasts((shown) => shown.filter((toast) => toast.key !== key)),
    [],
  )
  const add = useCallback(
    (toast: Omit<Toast, 'key'>) => {
      const key = next.current++
      setToasts((shown) => [...shown.slice(-2), { ...toast, key }])
      setTimeout(() => drop(key), SHOWN_MS)
    },
    [drop],
  )
  const tell = useMemo<Tell>(
    () => ({
      say: (text) => add({ text }),
      attempt: (work) => work.catch((error) => void add(describe(error))),
    }),
    [add],
  )
  return (
    <Context.Provider value={tell}>
      {children}
      <div className="toasts" role="status">
        {toasts.map(({ key, text, code }) => (
          <div key={key} className={code ? 'toast toast-error' : 'toast'}>
            {code && <code>{code}</code>}
            <span>{text}</span>
            <button
              type="button"
              className="icon-button"
              aria-label="Dismiss"
              onClick={() => drop(key)}
            >
              <Icon name="close" size={14} />
            </button>
          </div>
        ))}
      </div>
    </Context.Provider>
  )
}

export const describe = (error: unknown) =>
  isChatError(error)
    ? { text: error.message, code: error.code }
    : { text: String(error), code: 'ERROR' }

export function useTell(): Tell {
  const tell = useContext(Context)
  if (!tell) throw new Error('there is no pane above')
  return tell
}
