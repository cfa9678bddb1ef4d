import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './consumer.ts'

/** A text that users read, and its path in the repository. */
export type Text = { name: string; text: string }

/** Users are "they", and "cannot" is one word. */
const WORDS = /\b(?:he|his|him|himself|can not|anew)\b/gi
/** Documents that readers do not have. */
const DOCUMENTS = /\b(?:SPEC|DESIGN)\b/g

export const forbiddenWords = ({ name, text }: Text) =>
  [...text.matchAll(WORDS), ...text.matchAll(DOCUMENTS)].map(([word]) => `${name}: ${word}`)

/** The targets of relative links, and whatever else looks like the path of a Markdown file. */
export function mentionedFiles(text: string) {
  const links = [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, target = '']) => target)
  const withoutLinks = text.replace(/\]\([^)]*\)/g, ']')
  const paths = withoutLinks.match(/[\w./-]+\.md\b/g) ?? []
  return [...links, ...paths]
}

/** Those of them that are neither beside the text nor at the root of the repository. */
export const missingFiles = ({ name, text }: Text) =>
  mentionedFiles(text)
    .filter((file) => ![dirname(name), '.'].some((from) => existsSync(join(root, from, file))))
    .map((file) => `${name}: ${file}`)
