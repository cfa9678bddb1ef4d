import { testHostileRequests } from '../support/hostile/index.ts'
import { useWorld } from '../support/world.ts'

/** With those of `hostile-flood.long.ts`, which HOSTILE_TOTAL says. */
const REQUESTS = Number(process.env.HOSTILE_TOTAL ?? 100_000) / 4

testHostileRequests(useWorld(), REQUESTS)
