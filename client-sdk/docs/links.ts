import { addressOf } from '../console/route.ts'
import { guideNamed, guideNameOf } from './guides.ts'

const REPOSITORY = 'https://github.com/parley-chat/parley/blob/main'

/**
 * Where a link of a guide leads on this page: to a guide, a document, or a file of the repository.
 * The readme of a package has full addresses, since the package has no other guide.
 */
export function linkOf(address: string, file: string) {
  const href = address.replace(REPOSITORY, '')
  if (isOutside(href)) return href
  const target = new URL(href, `file:///${file}`)
  const path = decodeURI(target.pathname.slice(1))
  const anchor = target.hash.slice(1)
  const guide = guideNameOf(path)
  if (guide) {
    return addressOf(['guides', guide, ...(anchor ? [anchor] : [])])
  }
  if (path === 'openapi.json') return '../openapi.json'
  if (path === 'asyncapi.json') return 'asyncapi.json'
  return `${REPOSITORY}/${path}${target.hash}`
}

/** The text of a link: a guide's title, where the source has the name of its file. */
export function linkTextOf(text: string, address: string) {
  const [, name] = /^#\/guides\/([\w-]+)/.exec(address) ?? []
  return /^[\w/-]+\.md$/.test(text) ? guideNamed(name)?.title : undefined
}

export const isOutside = (address: string) => /^[a-z]+:/i.test(address)
