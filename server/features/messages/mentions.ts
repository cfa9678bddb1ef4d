import { limits } from '@parley/contract'

/**
 * The first names mentioned in a text, without `@`, each once; none in code spans or mail
 * addresses. Each member whom a push may reach is compared with all of them.
 */
export const mentionsIn = (text: string) => {
  const names = [...outsideCode(text).matchAll(MENTION)].map((match) => match[1] ?? '')
  return [...new Set(names)].slice(0, limits.mentions)
}

/** A text without its code spans. */
export const outsideCode = (text: string) => text.replace(CODE, '`')

const CODE = /```[\s\S]*?(?:```|$)|``[^\n]*?``|`[^`\n]*`/g
/** Letters, digits, `_`, `-` and `.`, the last two not at the end; not directly after a word. */
const MENTION = /(?<![\p{L}\p{M}\p{N}_])@([\p{L}\p{M}\p{N}_.-]*[\p{L}\p{M}\p{N}_])/gu
