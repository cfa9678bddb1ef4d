import type { ImportRecordInput } from '@parley/contract'
import { UNSAFE_KEYS } from '../../core/unsafe-keys.ts'
import { bytesOf } from '../bytes-of.ts'
import { printLine } from '../outputs.ts'
import { entitiesOf, type Format } from './entities.ts'
import { sendbirdExport } from './sendbird.ts'
import { streamExport } from './stream.ts'

const formats: Record<string, Format> = {
  'stream-export': streamExport,
  'sendbird-export': sendbirdExport,
}
/** Records go in this order, for what they refer to must come before them. */
const PASSES = [
  ['user'],
  ['channel'],
  ['member'],
  ['message'],
  ['reply'],
  ['reaction', 'pin', 'read'],
] as const

/**
 * `parley convert`: prints the records of an export. The file is read once for each kind of record,
 * so that nothing is kept but the ids that were printed. It fails if nothing was printed.
 */
export async function convert({ format, file }: { format: string; file: string }) {
  const found = Object.hasOwn(formats, format) ? formats[format] : undefined
  if (!found)
    throw new Error(`unknown format "${format}": expected ${Object.keys(formats).join(' or ')}`)
  let lines = 0
  const problems = await convertFile(found, {
    open: () => bytesOf(file),
    print: (line) => {
      lines += 1
      printLine(line)
    },
  })
  for (const [problem, count] of problems) console.error(`${count} × ${problem}`)
  if (lines === 0) throw new Error(`${file}: nothing in it could be converted`)
}

type Conversion = { open: () => AsyncIterable<Uint8Array>; print: (line: string) => void }

/** Prints the records of a file, each user and channel once; returns what was not converted. */
export async function convertFile({ convert, lists }: Format, { open, print }: Conversion) {
  const problems = new Map<string, number>()
  const count = (problem: string) => problems.set(problem, (problems.get(problem) ?? 0) + 1)
  const printed = new Set<string>()
  const quotes = createQuotes()
  for (const [pass, kinds] of PASSES.entries()) {
    const onUnsafeKeys = () => {
      if (pass === 0) count(`left out: ${UNSAFE_KEYS}`)
    }
    for await (const entity of entitiesOf(open(), { lists, onUnsafeKeys })) {
      for (const record of convert(entity)) {
        if ('problem' in record) {
          if (pass === 0) count(record.problem)
          continue
        }
        if (!(kinds as readonly string[]).includes(kindOf(record)) || isRepeat(record, printed))
          continue
        quotes.note(record)
        print(JSON.stringify(record))
      }
    }
  }
  if (quotes.late() > 0)
    problems.set('message: it quotes a reply, which may get lost', quotes.late())
  return problems
}

const kindOf = (record: ImportRecordInput) =>
  record.record === 'message' && record.parentId !== undefined ? 'reply' : record.record

/** Counts quotes of replies by messages of no thread, which are printed before these. */
function createQuotes() {
  const quoted = new Map<string, number>()
  let late = 0
  const note = (record: ImportRecordInput) => {
    if (record.record !== 'message') return
    const { id, parentId, quotedMessageId } = record
    if (parentId !== undefined) late += quoted.get(id) ?? 0
    else if (quotedMessageId !== undefined)
      quoted.set(quotedMessageId, (quoted.get(quotedMessageId) ?? 0) + 1)
  }
  return { note, late: () => late }
}

/** Users and channels are named by many entities. */
function isRepeat(record: ImportRecordInput, printed: Set<string>) {
  const key = keyOf(record)
  if (key === undefined) return false
  if (printed.has(key)) return true
  printed.add(key)
  return false
}

function keyOf(record: ImportRecordInput) {
  if (record.record === 'user' || record.record === 'channel')
    return `${record.record} ${record.id}`
  if (record.record === 'member') return `member ${record.channelId} ${record.userId}`
  return undefined
}
