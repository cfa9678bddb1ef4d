import type { contract, Input } from '@parley/contract'
import { ApiError } from '../../core/errors.ts'
import type { MessageRow } from '../../db/rows.ts'
import { mergeCustom } from '../custom.ts'

type Editable = Pick<MessageRow, 'text' | 'attachments' | 'custom'>
type MessageEdit = Pick<Input<typeof contract.messages.edit>, 'text' | 'custom'>

/** The content of a message after an edit. An edit may not leave it empty. */
export function contentAfter(message: Editable, changes: MessageEdit) {
  const { attachments } = message
  const { text = message.text } = changes
  if (changes.text === '' && Array.isArray(attachments) && attachments.length === 0)
    throw new ApiError('VALIDATION_ERROR', 'text: expected at least 1 character')
  return { text, custom: mergeCustom(message.custom, changes.custom) }
}
