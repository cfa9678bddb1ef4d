import { testHostileRequests } from '../support/hostile/index.ts'
import { useWorld } from '../support/world.ts'

testHostileRequests(useWorld(), 25_000)
