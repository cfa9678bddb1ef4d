import { readFileSync, writeFileSync } from 'node:fs'
import { openApiJson } from './openapi.ts'

/** Writes openapi.json; with `--check` only tells whether it is what the contract says. */
const file = new URL('../../openapi.json', import.meta.url)
const current = openApiJson()

if (!process.argv.includes('--check')) writeFileSync(file, current)
else if (readFileSync(file, 'utf8') !== current) {
  console.error('openapi.json is not what the contract says: run `npm run openapi` and commit the result')
  process.exitCode = 1
}
