import { createReadStream } from 'node:fs'
import type { ImportRecordInput } from '@parley/contract'
import { type Converter, entitiesOf } from './entities.ts'
import { sendbirdRecords } from './sendbird.ts'
import { streamRecords } from './stream.ts'

const formats: Record<string, Converter> = {
  'stream-export': streamRecords,
  'sendbird-export': sendbirdRecords,
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
 * so that nothing is kept but the ids that were printed.
 */
export async function convert({ format, file }: { format: string; file: string }) {
  const converter = Object.hasOwn(formats, format) ? formats[format] : undefined
  if (!converter)
    throw new Error(`unknown format "${format}": expected ${Object.keys(formats).join(' or ')}`)
  const problems = await convertFile(converter, {
    open: () => createReadStream(file),
    print: (line) => void process.stdout.write(`${line}\n`),
  })
  for (const [problem, count] of problems) console.error(`${count} × ${problem}`)
}

type Conversion = { open: () => AsyncIterable<Uint8Array>; print: (line: string) => void }

/** Prints the records of a file, each user and channel once; returns what was not converted. */
export async function convertFile(converter: Converter, { open, print }: Conversion) {
  const problems = new Map<string, number>()
  const printed = new Set<string>()
  for (const [pass, kinds] of PASSES.entries()) {
    for await (const entity of entitiesOf(open())) {
      for (const record of converter(entity)) {
        if ('problem' in record) {
          if (pass === 0) problems.set(record.problem, (problems.get(record.problem) ?? 0) + 1)
          continue
        }
        if (!(kinds as readonly string[]).includes(kindOf(record)) || isRepeat(record, printed))
          continue
        print(JSON.stringify(record))
      }
    }
  }
  return problems
}

const kindOf = (record: ImportRecordInput) =>
  record.record === 'message' && record.parentId !== undefined ? 'reply' : record.record

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
