import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { asyncApiJson } from '../http/openapi/asyncapi.ts'
import { openApiJson } from '../http/openapi/document.ts'

/** Writes openapi.json and asyncapi.json; with `--check` only tells whether they are what the contract says. */
const documents = { 'openapi.json': openApiJson(), 'asyncapi.json': asyncApiJson() }

for (const [name, current] of Object.entries(documents)) {
  const file = new URL(`../../${name}`, import.meta.url)
  if (!process.argv.includes('--check')) writeFileSync(file, current)
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== current) {
    console.error(
      `${name} is not what the contract says: run \`npm run openapi\` and commit the result`,
    )
    process.exitCode = 1
  }
}
