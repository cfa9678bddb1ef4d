import { testConvergence } from '../support/convergence.ts'
import { useSharedWorld } from '../support/world.ts'

// test/long/convergence.long.ts runs more histories of the same seed.
testConvergence(useSharedWorld(), {
  title: 'after any actions on any network, each client soon shows what a fresh one loads',
  runs: 5,
})
