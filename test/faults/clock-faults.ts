import { setTimeout as delay } from 'node:timers/promises'
import { everywhere } from './faults.ts'
import { DATABASE_CLOCK_SET } from './history.ts'
import type { Rig } from './rig.ts'

/** The seconds by which a clock is set. */
const CLOCK_STEPS = [-3_600, -600, -5, 5, 600, 3_600]
export async function stepClock(rig: Rig) {
  const victim = rig.random.pick([...rig.nodes, rig.worker])
  const name = `clock of ${victim === rig.worker ? 'the worker' : 'a node'} stepped`
  await rig.fault({ ...everywhere, name }, async () => {
    victim.setClock(rig.random.pick(CLOCK_STEPS))
    await delay(rig.random.between(1_000, 4_000))
    victim.setClock(0)
  })
}

/** Heartbeats are written before, between and after the steps. */
export async function stepDatabaseClock(rig: Rig) {
  const seconds = rig.random.pick(CLOCK_STEPS)
  await rig.fault({ ...everywhere, name: `${DATABASE_CLOCK_SET} by ${seconds} s` }, async () => {
    rig.database.setClock(seconds)
    await delay(rig.random.between(1_000, 8_000))
    rig.database.setClock(0)
  })
}
