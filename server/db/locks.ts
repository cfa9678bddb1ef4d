import type { Tx } from './client.ts'

/** The keys of all advisory locks, side by side so that no two are the same. */
export const locks = {
  migration: 7_305_217,
  cleanup: 7_305_218,
  demoApp: 7_305_219,
  release: 7_305_220,
  metrics: 7_305_221,
  pushToken: 7_305_222,
}

/**
 * The second half of each key but that of a push token: the service's schema, so that services
 * which share a database do not share its locks.
 */
export const inSchema = (db: Tx) => db`hashtext(current_schema())`
