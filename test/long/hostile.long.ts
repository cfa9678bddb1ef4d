import { testHostileRequests } from '../support/hostile/index.ts'
import { useWorld } from '../support/world.ts'

/** A quarter of HOSTILE_TOTAL, beside the requests of `hostile-flood.long.ts`. */
const REQUESTS = Number(process.env.HOSTILE_TOTAL ?? 100_000) / 4

testHostileRequests(useWorld(), REQUESTS)
