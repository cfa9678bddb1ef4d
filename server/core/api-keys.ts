import { randomBytes } from 'node:crypto'

/** Whether a text has the form of an API key. Anything else is not looked up. */
export const isApiKey = (text: string) => /^pk_[\w-]{32}$/.test(text)

export const newApiKey = () => `pk_${randomBytes(24).toString('base64url')}`
