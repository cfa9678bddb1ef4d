import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { newApiKey } from '../core/api-keys.ts'
import { parseJson } from '../core/json-text.ts'
import { makeFolder, requireWritable, unwritable } from '../db/embedded/data-dir.ts'

const Secrets = z.object({ adminKey: z.string(), jwtSecret: z.string(), demoApiKey: z.string() })
export type Secrets = z.infer<typeof Secrets>

/**
 * The secrets of a development server that has none configured: generated at its first start,
 * stored beside the database, readable by their owner only.
 */
export function developmentSecrets(dataDir: string): Secrets {
  const file = fileIn(dataDir)
  if (!existsSync(file)) create(file)
  return read(file)
}

/** Throws if a start would have no secrets. It makes nothing. */
export function requireSecrets(dataDir: string) {
  const file = fileIn(dataDir)
  if (existsSync(file)) read(file)
  else requireWritable(dataDir)
}

const fileIn = (dataDir: string) => join(dataDir, 'secrets.json')

function read(file: string): Secrets {
  const { data } = Secrets.safeParse(parseJson(readFileSync(file, 'utf8')))
  if (!data)
    throw new Error(
      `DATA_DIR: ${file} does not contain valid secrets: ` +
        'restore it, or delete all of DATA_DIR to start afresh',
    )
  return data
}

/** Linking is atomic: the file appears complete, and never replaces that of another start. */
function create(file: string) {
  const secrets: Secrets = {
    adminKey: `ak_${random()}`,
    jwtSecret: random(),
    demoApiKey: newApiKey(),
  }
  const draft = `${file}.${process.pid}`
  try {
    makeFolder(dirname(file))
    writeFileSync(draft, JSON.stringify(secrets, null, 2), { mode: 0o600 })
  } catch (error) {
    throw unwritable(dirname(file), error)
  }
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!existsSync(file)) throw error
  } finally {
    rmSync(draft)
  }
}

const random = () => randomBytes(32).toString('base64url')
