import { useEffect, useState } from 'react'
import { Dialog } from './dialog.tsx'
import { Icon } from './icons.tsx'
import { isTyping } from './is-typing.ts'

/** The key of shortcuts on this machine. */
export const commandKey = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl'
type Modifiers = { ctrlKey: boolean; metaKey: boolean }
/** Whether that key is held. With Ctrl a Mac moves the caret and deletes text. */
export const hasCommandKey = ({ ctrlKey, metaKey }: Modifiers) =>
  commandKey === '⌘' ? metaKey : ctrlKey

const groups = [
  {
    title: 'Writing',
    shortcuts: [
      { keys: ['Enter'], does: 'Send the message' },
      { keys: ['Shift', 'Enter'], does: 'Start a new line' },
      { keys: ['@'], does: 'Mention a member' },
      { keys: [commandKey, 'B'], does: 'Bold: *text*' },
      { keys: [commandKey, 'I'], does: 'Italic: _text_' },
      { keys: [commandKey, 'Shift', 'X'], does: 'Struck: ~text~' },
      { keys: [commandKey, 'E'], does: 'Code: `text`' },
    ],
  },
  {
    title: 'Moving',
    shortcuts: [
      { keys: [commandKey, 'K'], does: 'Jump to a channel or a person' },
      { keys: ['Tab'], does: 'Go to the next control, or to the tools of a message' },
      { keys: ['↑'], does: 'Previous channel or message in a list' },
      { keys: ['↓'], does: 'Next channel or message in a list' },
      { keys: ['Esc'], does: 'Close what is open' },
      { keys: ['?'], does: 'Show these shortcuts' },
    ],
  },
]

/** A button, and the key `?`, for the list of keyboard shortcuts. */
export function Shortcuts() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const open = ({ key, target }: KeyboardEvent) => {
      if (key === '?' && !isTyping(target)) setOpen(true)
    }
    window.addEventListener('keydown', open)
    return () => window.removeEventListener('keydown', open)
  }, [])
  return (
    <>
      <button
        type="button"
        className="icon-button shortcuts-button"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={() => setOpen(true)}
      >
        <Icon name="help" />
      </button>
      {isOpen && <ShortcutsDialog onClose={() => setOpen(false)} />}
    </>
  )
}

const ShortcutsDialog = ({ onClose }: { onClose: () => void }) => (
  <Dialog title="Keyboard shortcuts" onClose={onClose}>
    {groups.map(({ title, shortcuts }) => (
      <section key={title} className="shortcuts">
        <h3>{title}</h3>
        <dl>
          {shortcuts.map(({ keys, does }) => (
            <div key={does}>
              <dt>{does}</dt>
              <dd>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dd>
            </div>
          ))}
        </dl>
      </section>
    ))}
  </Dialog>
)
