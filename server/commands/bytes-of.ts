import { createReadStream } from 'node:fs'

/** The bytes of a file. One that cannot be read is named. */
export async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? error.code : 'error'
    throw new Error(`${file}: cannot be read (${reason})`)
  }
}
