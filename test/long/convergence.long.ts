import { testConvergence } from '../support/convergence.ts'
import { useWorld } from '../support/world.ts'

testConvergence(useWorld(), {
  title: 'after thirty histories of actions and outages, clients show what fresh ones load',
  runs: 30,
})
