import type { ChatMessage, QuotedMessage as Quoted } from '@parley/client'
import { IconButton } from './icon-button.tsx'
import { plainText } from './markdown.ts'
import { useOpenChannel } from './open-channel.ts'

/** What a message quotes; a click goes there. */
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

/** What the message that is being written quotes. */
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
