/** The names mentioned in a text, without `@`, in order, each once. Code spans and e-mail addresses mention nobody. */
export const mentionsIn = (text: string) => [
  ...new Set([...outsideCode(text).matchAll(MENTION)].map((match) => match[1] ?? '')),
]

/** A text without its code spans. */
export const outsideCode = (text: string) => text.replace(CODE, '`')

const CODE = /```[\s\S]*?(?:```|$)|``[^\n]*?``|`[^`\n]*`/g
/** Letters, digits, `_`, `-` and `.`, the last two not at the end; not directly behind a word. */
const MENTION = /(?<![\p{L}\p{M}\p{N}_])@([\p{L}\p{M}\p{N}_.-]*[\p{L}\p{M}\p{N}_])/gu
