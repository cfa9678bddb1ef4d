import { testConvergence } from '../support/convergence.ts'
import { useWorld } from '../support/world.ts'

// test/long/convergence.long.ts runs more histories of the same seed.
testConvergence(useWorld(), {
  title: 'after any actions on any network, each client soon shows what a fresh one loads',
  runs: 10,
})
