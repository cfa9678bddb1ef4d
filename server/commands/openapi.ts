import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { asyncApiJson } from '../http/openapi/asyncapi.ts'
import { openApiJson } from '../http/openapi/document.ts'

type DocumentsOptions = { folder?: string | undefined; isCheck?: boolean | undefined }

/**
 * `parley openapi`: writes openapi.json and asyncapi.json. With `--check` it only compares them
 * with the contract.
 */
export function writeDocuments({ folder = '.', isCheck = false }: DocumentsOptions) {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`${folder}: no such folder`)
  const documents = { 'openapi.json': openApiJson(), 'asyncapi.json': asyncApiJson() }
  const files = Object.entries(documents).map(([name, text]) => ({
    name,
    file: resolve(folder, name),
    text,
  }))
  if (!isCheck) {
    for (const { file, text } of files) writeFileSync(file, text)
    return
  }
  const stale = files.filter(
    ({ file, text }) => !existsSync(file) || readFileSync(file, 'utf8') !== text,
  )
  if (stale.length > 0)
    throw new Error(`${stale.map(({ name }) => name).join(', ')}: out of date. Run: parley openapi`)
}
