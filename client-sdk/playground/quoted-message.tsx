import type { ChatMessage, QuotedMessage as Quoted } from '@parley/client'
import { IconButton } from './icon-button.tsx'
import { plainText } from './markdown.ts'
import { useOpenChannel } from './open-channel.ts'

/** The quote in a message; a click goes to the quoted one. */
export function QuotedMessage({ quoted }: { quoted: Quoted }) {
  const { show } = useOpenChannel()
  const isDeleted = quoted.deletedAt !== null
  return (
    <button type="button" className="quoted" disabled={isDeleted} onClick={() => show(quoted)}>
      <strong>{quoted.user.name}</strong>
      <span>{isDeleted ? 'This message was deleted' : contentOf(quoted)}</span>
    </button>
  )
}

/** The quote in the message that is being written. */
export function ComposerQuote({
  quoted,
  onClose,
}: {
  quoted: ChatMessage
  onClose?: (() => void) | undefined
}) {
  return (
    <div className="quoted composer-quote">
      <strong>{quoted.user.name}</strong>
      <span>{contentOf({ text: quoted.text, attachmentCount: quoted.attachments.length })}</span>
      <IconButton size={15} label="Do not quote" icon="close" onClick={() => onClose?.()} />
    </div>
  )
}

const contentOf = ({ text, attachmentCount }: Pick<Quoted, 'text' | 'attachmentCount'>) =>
  plainText(text) || (attachmentCount === 1 ? '1 attachment' : `${attachmentCount} attachments`)
