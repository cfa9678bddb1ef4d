import type { contract, Input } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import type { MessageRow } from '../../db/rows.ts'
import { mergeCustom } from '../custom.ts'

type Editable = Pick<MessageRow, 'text' | 'attachments' | 'custom'>
type MessageEdit = Pick<Input<typeof contract.messages.edit>, 'text' | 'custom'>

/** Only a message that grew may have neither text nor attachments. */
export const hasContent = ({ text, attachments }: Pick<Editable, 'text' | 'attachments'>) =>
  text !== '' || (Array.isArray(attachments) && attachments.length > 0)

/** The content of a message after an edit. An edit may not leave it empty. */
export function contentAfter(message: Editable, changes: MessageEdit) {
  const { attachments } = message
  const { text = message.text } = changes
  if (changes.text === '' && !hasContent({ text, attachments }))
    throw new ApiError('VALIDATION_ERROR', 'text: expected at least 1 character')
  return { text, custom: mergeCustom(message.custom, changes.custom) }
}
