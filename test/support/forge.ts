import { createHmac } from 'node:crypto'
import { SECRET } from './secrets.ts'

/** A token with a valid signature, with the given claims in place of those of a real one. */
export function forge(
  token: string,
  { header = {}, payload = {}, secret = SECRET, hash = 'sha256' }: Forgery,
) {
  const [oldHeader = '', oldPayload = ''] = token
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('latin1'))
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const newHeader = encode({ ...JSON.parse(oldHeader), ...header })
  const newPayload = encode({ ...JSON.parse(oldPayload), ...payload })
  const signed = `${newHeader}.${newPayload}`
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
}
export type Forgery = { header?: object; payload?: object; secret?: string; hash?: string }
