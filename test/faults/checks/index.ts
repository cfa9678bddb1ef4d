import type { History } from '../history.ts'
import {
  answeredInTime,
  answeredOr503,
  answeredUnlessBroken,
  nothingRefused,
  servedAfterFaults,
} from './calls.ts'
import { changesAsAcknowledged, countsOfReplies, reactionsAsAcknowledged } from './changes.ts'
import { nothingLost, offsetsWithoutGaps, receivedAsStored } from './deliveries.ts'
import { frozenAsAcknowledged, onlyBackendWhileFrozen, refusedAreAbsent } from './frozen.ts'
import { countersExact, importedOnce } from './imports.ts'
import {
  acknowledgedOnce,
  createdInOrder,
  nothingForeign,
  revsWithoutGaps,
  sameEverywhere,
  sendersInOrder,
  seqsWithoutGaps,
} from './messages.ts'
import { backInTime, connectionsClosed, noneDied, pushedAsSent } from './processes.ts'
import { redisBack } from './redis.ts'
import { streamsInterruptedInTime, streamsKept, streamsPushed, streamsSpliced } from './streams.ts'
import { typingEnded } from './typing.ts'
import {
  convergedInTime,
  presenceReceived,
  readPositionsKept,
  unreadReceived,
} from './user-state.ts'
import { hookedAsStored } from './webhooks.ts'

/** Everything that must hold of every run. */
export const checks = {
  acknowledgedOnce,
  nothingForeign,
  sameEverywhere,
  seqsWithoutGaps,
  revsWithoutGaps,
  sendersInOrder,
  createdInOrder,
  changesAsAcknowledged,
  reactionsAsAcknowledged,
  countsOfReplies,
  onlyBackendWhileFrozen,
  frozenAsAcknowledged,
  refusedAreAbsent,
  readPositionsKept,
  offsetsWithoutGaps,
  nothingLost,
  receivedAsStored,
  unreadReceived,
  presenceReceived,
  convergedInTime,
  typingEnded,
  pushedAsSent,
  hookedAsStored,
  streamsKept,
  streamsSpliced,
  streamsInterruptedInTime,
  streamsPushed,
  importedOnce,
  countersExact,
  redisBack,
  answeredOr503,
  servedAfterFaults,
  answeredInTime,
  answeredUnlessBroken,
  nothingRefused,
  backInTime,
  connectionsClosed,
  noneDied,
}

/** The violations of a run, by check. Empty if everything holds. */
export function violationsOf(history: History): Record<string, string[]> {
  const found = Object.entries(checks).map(([name, check]) => [name, check(history)] as const)
  return Object.fromEntries(found.filter(([, violations]) => violations.length > 0))
}
