import type { Format } from '@parley/server/commands/convert/entities'
import { convertFile } from '@parley/server/commands/convert/index'

/** Converts a text, in chunks of a few bytes, and counts those before the first line. */
export async function converted(format: Format, text: string) {
  const lines: string[] = []
  let bytesRead = 0
  let bytesBefore = 0
  const open = async function* () {
    const bytes = Buffer.from(text)
    for (let from = 0; from < bytes.length; from += 7) {
      bytesRead += 7
      yield bytes.subarray(from, from + 7)
    }
  }
  const print = (line: string) => {
    bytesBefore ||= bytesRead
    lines.push(line)
  }
  const problems = await convertFile(format, { open, print })
  return { lines, problems: Object.fromEntries(problems), bytesBefore }
}
