import { randomBytes } from 'node:crypto'

/** Whether it could be a key at all; what could not is not looked up. */
export const isApiKey = (text: string) => /^pk_[\w-]{32}$/.test(text)

export const newApiKey = () => `pk_${randomBytes(24).toString('base64url')}`
