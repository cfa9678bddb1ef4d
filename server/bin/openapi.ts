import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { asyncApiJson } from '../http/openapi/asyncapi.ts'
import { openApiJson } from '../http/openapi/document.ts'

/**
 * `npm run openapi`: writes openapi.json and asyncapi.json. With `--check` it only compares them
 * with the contract.
 */
const documents = { 'openapi.json': openApiJson(), 'asyncapi.json': asyncApiJson() }
const isCheck = process.argv.includes('--check')

for (const [name, current] of Object.entries(documents)) {
  const file = new URL(`../../${name}`, import.meta.url)
  if (!isCheck) {
    writeFileSync(file, current)
    continue
  }
  const isCurrent = existsSync(file) && readFileSync(file, 'utf8') === current
  if (isCurrent) continue
  console.error(`${name} is out of date: run \`npm run openapi\` and commit the result`)
  process.exitCode = 1
}
