/** The names mentioned in a text, without `@`, in order, each once. Code spans and e-mail addresses mention nobody. */
export const mentionsIn = (text: string) => [...new Set([...text.replace(CODE, '`').matchAll(MENTION)].map((match) => match[1] ?? ''))]

const CODE = /```[\s\S]*?(?:```|$)|``[^\n]*?``|`[^`\n]*`/g
/** Letters, digits, `_`, `-` and `.`, the last two not at the end; not directly behind a word. */
const MENTION = /(?<![\p{L}\p{M}\p{N}_])@([\p{L}\p{M}\p{N}_.-]*[\p{L}\p{M}\p{N}_])/gu
