/** What MissedCopies and MissedProfiles have in common. */

/**
 * An overlap, because transactions may commit after the gap began although their changes are older.
 */
export const OVERLAP_MS = 15_000
/** For how long something that could not be sent is tried again. */
export const RETRY_MS = 600_000
/** How many lost ones are kept, one a user or channel; beyond that the oldest is given up. */
export const MOST_LOST = 10_000
/** How many users or channels a statement reads at most. */
export const PAGE = 10_000
