type Leaf<Type extends string> = { type: Type; text: string }
type Parent<Type extends string> = { type: Type; children: Inline[] }
/** A part of a line: plain text, something that stands for itself, or a style around others. */
export type Inline =
  | Leaf<'text'>
  | Leaf<'code'>
  | Leaf<'link'>
  | Leaf<'mention'>
  | Parent<'bold'>
  | Parent<'italic'>
  | Parent<'strike'>
export type Block =
  | Parent<'text'>
  | Parent<'quote'>
  | Leaf<'code'>
  | { type: 'list'; start: number | undefined; items: Inline[][] }

const CODE_BLOCK = /(```[\s\S]*?```)/u
const CODE = /`[^`\n]+`/u
/** Brackets belong to it in pairs: those around it do not. */
const LINK = /https?:\/\/(?:[^\s<()]|\([^\s<()]*\))+(?:\([^\s<()]*\)|[^\s<.,:;!?()\]'"*_~])/u
const MENTION = /(?<![\p{L}\p{N}_])@[\p{L}\p{N}_.-]*[\p{L}\p{N}_]/u
const MARKER = /\*{1,2}|~{1,2}|_/u
/** Splits a text: parts with an even index are plain text, the others are one of the above. */
const TOKENS = new RegExp(
  `(${[CODE, LINK, MENTION, MARKER].map(({ source }) => source).join('|')})`,
  'u',
)
const styles: Record<string, 'bold' | 'italic' | 'strike'> = {
  '*': 'bold',
  '**': 'bold',
  _: 'italic',
  '~': 'strike',
  '~~': 'strike',
}

/**
 * The blocks of a message, in the syntax of chat apps: *bold*, _italic_, ~strike~, `code`, blocks
 * of code between ```, lines that start with "> ", "- " or "1. ". What is not closed is plain text.
 */
export const parseMarkdown = (text: string): Block[] =>
  text.split(CODE_BLOCK).flatMap((part, index, { length }): Block[] => {
    if (index % 2 === 1) return [{ type: 'code', text: part.slice(3, -3).trim() }]
    // A block of code begins and ends its lines by itself.
    const start = index > 0 && part.startsWith('\n') ? 1 : 0
    const end = index < length - 1 && part.endsWith('\n') ? -1 : part.length
    const lines = part.slice(start, end)
    return lines === '' ? [] : parseLines(lines.split('\n'))
  })

const QUOTE = /^> ?/
const ITEM = /^ {0,3}(?:[-*•]|(\d{1,9})[.)]) +(?=\S)/

type LineKind = 'text' | 'quote' | 'bullets' | 'numbers'

/** Lines of one kind that follow each other are one block. */
function parseLines(lines: readonly string[]): Block[] {
  const groups: { kind: LineKind; lines: string[] }[] = []
  for (const line of lines) {
    const kind = kindOf(line)
    const last = groups.at(-1)
    if (last?.kind === kind) last.lines.push(line)
    else groups.push({ kind, lines: [line] })
  }
  return groups.map((group) => toBlock(group.kind, group.lines))
}

function kindOf(line: string): LineKind {
  if (QUOTE.test(line)) return 'quote'
  const item = ITEM.exec(line)
  if (!item) return 'text'
  return item[1] === undefined ? 'bullets' : 'numbers'
}

function toBlock(kind: LineKind, lines: readonly string[]): Block {
  if (kind === 'text') return { type: 'text', children: parseInline(lines.join('\n')) }
  if (kind === 'quote') {
    const text = lines.map((line) => line.replace(QUOTE, '')).join('\n')
    return { type: 'quote', children: parseInline(text) }
  }
  const number = ITEM.exec(lines[0] ?? '')?.[1]
  return {
    type: 'list',
    start: number === undefined ? undefined : Number(number),
    items: lines.map((line) => parseInline(line.replace(ITEM, ''))),
  }
}

/** A style that was opened, and waits for the same marker. `end` is where that one ends. */
type Open = { marker: string; end: number; children: Inline[] }

/** Takes time in proportion to the text: there are few markers, and each is open once. */
function parseInline(text: string): Inline[] {
  const root: Open = { marker: '', end: 0, children: [] }
  const open = [root]
  const add = (part: Inline) => open.at(-1)?.children.push(part)
  let start = 0
  for (const [index, token] of text.split(TOKENS).entries()) {
    const end = start + token.length
    const style = styles[token]
    if (index % 2 === 0) add({ type: 'text', text: token })
    else if (!style) add(leafOf(token))
    else if (closes(open, { token, start }) && isEnd(text, { start, end })) {
      while (open.at(-1)?.marker !== token) unwrap(open)
      const children = open.pop()?.children ?? []
      add({ type: style, children })
    } else if (open.every(({ marker }) => marker !== token) && isStart(text, { start, end }))
      open.push({ marker: token, end, children: [] })
    else add({ type: 'text', text: token })
    start = end
  }
  while (open.length > 1) unwrap(open)
  return root.children
}

const closes = (open: readonly Open[], { token, start }: { token: string; start: number }) =>
  open.some(({ marker, end }) => marker === token && end < start)

type Span = { start: number; end: number }
const isWord = (character = ' ') => /[\p{L}\p{N}]/u.test(character)
const isSpace = (character = ' ') => /\s/.test(character)
/** Markers stand at the edges of words: snake_case and 2 * 3 have none. */
const isStart = (text: string, { start, end }: Span) =>
  !isWord(text[start - 1]) && !isSpace(text[end])
const isEnd = (text: string, { start, end }: Span) =>
  !isSpace(text[start - 1]) && !isWord(text[end])

/** A style that was not closed is the text that it was. */
function unwrap(open: Open[]) {
  const inner = open.pop()
  if (inner) open.at(-1)?.children.push({ type: 'text', text: inner.marker }, ...inner.children)
}

function leafOf(token: string): Inline {
  if (token.startsWith('`')) return { type: 'code', text: token.slice(1, -1) }
  if (token.startsWith('@')) return { type: 'mention', text: token.slice(1) }
  return { type: 'link', text: token }
}

type NameOf = (userId: string) => string

const textOf = (part: Inline, nameOf: NameOf): string => {
  if (part.type === 'mention') return `@${nameOf(part.text)}`
  return 'text' in part ? part.text : textsOf(part.children, nameOf)
}
const textsOf = (parts: readonly Inline[], nameOf: NameOf) =>
  parts.map((part) => textOf(part, nameOf)).join('')

/** A message on one line, without the marks of its styles. */
export const plainText = (text: string, nameOf: NameOf = (userId) => userId) =>
  parseMarkdown(text)
    .map((block) => {
      if (block.type === 'code') return block.text
      const parts = block.type === 'list' ? block.items : [block.children]
      return parts.map((children) => textsOf(children, nameOf)).join(' ')
    })
    .join(' ')
    .replace(/\s+/g, ' ')
    .trim()
