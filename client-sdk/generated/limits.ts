// Generated from the contract by scripts/generate.ts: do not edit.
// biome-ignore-all format: as generated
// biome-ignore-all lint: as generated
/** The most messages that are sent together. */
export const BATCH_MESSAGES = 50

/** How many channels a call fetches changes of, at most, and how many changes of one. */
export const CHANNELS_PER_CALL = 200
export const MAX_CHANGES = 2000

/** How many channels, or threads, a call returns parts of, and how many users. */
export const PARTS_PER_CALL = 10
export const USERS_PER_CALL = 100

/** The most that a page of a list has. */
export const CHANNELS_PER_PAGE = 100
export const MEMBERS_PER_PAGE = 1000

/** No channel reaches this rev. */
export const HIGHEST_REV = 2147483647

/** How many users of a reaction a message lists. */
export const REACTION_USERS = 10

/** How many characters of a message its quotes show. */
export const QUOTED_LENGTH = 200
