/** The constants of a file: as it declares them, and what a page says of them. */
export type Documented = Record<string, [declaration: string, page: string, promise: string][]>

export const README = 'README.md'
export const INTERNALS = 'docs/internals.md'
export const OPERATIONS = 'docs/operations.md'
export const RELIABILITY = 'docs/reliability.md'
export const REALTIME = 'docs/realtime.md'
export const JOBS = 'docs/jobs.md'
export const SCALING = 'docs/scaling.md'
export const WEBHOOKS = 'docs/webhooks.md'
export const PRIVACY = 'docs/privacy.md'
export const GUIDE = 'client-sdk/README.md'
export const REFERENCE = 'docs/sdk-reference.md'
export const INSTALL = 'docs/install.md'
export const PROGRAM = 'server/README.md'
