import { createHmac } from 'node:crypto'
import { SECRET } from './secrets.ts'

/** A token with a sound signature, and whatever is asked for in place of what a real one says. */
export function forge(
  token: string,
  { header = {}, payload = {}, secret = SECRET, hash = 'sha256' }: Forgery,
) {
  const [ours = '', theirs = ''] = token
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('latin1'))
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${encode({ ...JSON.parse(ours), ...header })}.${encode({ ...JSON.parse(theirs), ...payload })}`
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
}
export type Forgery = { header?: object; payload?: object; secret?: string; hash?: string }
