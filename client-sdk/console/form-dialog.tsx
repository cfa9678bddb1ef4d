import { type FormEvent, type ReactNode, useState } from 'react'
import { Dialog, Refusal } from '../playground/dialog.tsx'
import { describeError } from './describe-error.ts'
import { useSession } from './session.tsx'

type Props = {
  title: string
  submit: string
  isDangerous?: boolean
  isReady?: boolean
  /** Goes on to what follows the dialog. If it rejects, the dialog shows the refusal. */
  onSubmit: () => Promise<unknown>
  onClose: () => void
  children: ReactNode
}

/** Why the server refused a form, until that is sent again. */
export function useRefusal() {
  const { noteFailure } = useSession()
  const [refusal, setRefusal] = useState<ReturnType<typeof describeError>>()
  const refuse = (error: unknown) => {
    noteFailure(error)
    setRefusal(describeError(error))
  }
  return { refusal, refuse, forget: () => setRefusal(undefined) }
}

/** A dialog with a form that is sent to the server. */
export function FormDialog({
  title,
  submit,
  isDangerous = false,
  isReady = true,
  onSubmit,
  onClose,
  children,
}: Props) {
  const { refusal, refuse } = useRefusal()
  const [isBusy, setBusy] = useState(false)
  const send = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    try {
      await onSubmit()
    } catch (error) {
      refuse(error)
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={send}>
        {children}
        <Refusal refusal={refusal} />
        <footer>
          <button type="button" className="button button-quiet" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className={isDangerous ? 'button button-danger' : 'button'}
            disabled={!isReady || isBusy}
          >
            {submit}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

type TextFieldProps = {
  label: string
  value: string
  onChange: (value: string) => void
  hint?: ReactNode
  type?: 'text' | 'number' | 'datetime-local'
  placeholder?: string
  isRequired?: boolean
}

export const TextField = ({
  label,
  value,
  onChange,
  hint,
  type = 'text',
  placeholder,
  isRequired = false,
}: TextFieldProps) => (
  <label className="field">
    <span className="field-name">{label}</span>
    <input
      className="input"
      data-focus=""
      type={type}
      min={type === 'number' ? 0 : undefined}
      placeholder={placeholder}
      required={isRequired}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
    {hint && <span className="muted hint">{hint}</span>}
  </label>
)
