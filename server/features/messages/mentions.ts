/** The names mentioned in a text, without `@`, each once; none in code spans or mail addresses. */
export const mentionsIn = (text: string) => [
  ...new Set([...outsideCode(text).matchAll(MENTION)].map((match) => match[1] ?? '')),
]

/** A text without its code spans. */
export const outsideCode = (text: string) => text.replace(CODE, '`')

const CODE = /```[\s\S]*?(?:```|$)|``[^\n]*?``|`[^`\n]*`/g
/** Letters, digits, `_`, `-` and `.`, the last two not at the end; not directly after a word. */
const MENTION = /(?<![\p{L}\p{M}\p{N}_])@([\p{L}\p{M}\p{N}_.-]*[\p{L}\p{M}\p{N}_])/gu
