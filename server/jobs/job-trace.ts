import { AsyncLocalStorage } from 'node:async_hooks'

/** The traces of the calls that staged the jobs which are being run. */
export const jobTraces = new AsyncLocalStorage<string[]>()
