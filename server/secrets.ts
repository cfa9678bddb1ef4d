import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { newApiKey } from './features/apps.ts'

const Secrets = z.object({ adminKey: z.string(), jwtSecret: z.string(), demoApiKey: z.string() })
export type Secrets = z.infer<typeof Secrets>

/** What development needs and nobody has configured: made once, kept beside the database, readable by its owner only. */
export function developmentSecrets(dataDir: string): Secrets {
  const file = join(dataDir, 'secrets.json')
  if (existsSync(file)) return Secrets.parse(JSON.parse(readFileSync(file, 'utf8')))
  const secrets = { adminKey: `ak_${random()}`, jwtSecret: random(), demoApiKey: newApiKey() }
  mkdirSync(dataDir, { recursive: true })
  writeFileSync(file, JSON.stringify(secrets, null, 2), { mode: 0o600 })
  return secrets
}
const random = () => randomBytes(32).toString('base64url')
