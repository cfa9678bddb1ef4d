import { setTimeout as delay } from 'node:timers/promises'
import type { FaultFunction } from './faults.ts'
import type { Rig } from './rig.ts'

/** Harm to Redis, or to the way between it and a node. Callers must not notice. */

const harmless = { node: undefined, breaksAnswers: false }

const ofRedis =
  (
    name: string,
    harm: (redis: NonNullable<Rig['redis']>, rig: Rig) => Promise<unknown>,
  ): FaultFunction =>
  async (rig) => {
    const { redis } = rig
    if (redis) await rig.fault({ ...harmless, name }, () => harm(redis, rig))
  }

export const killRedis = ofRedis('Redis kill -9', async (redis, { random }) => {
  await redis.kill()
  await delay(random.between(200, 6_000))
  await redis.start()
})

/** Its data is gone, and with it all subscriptions. */
export const flushRedis = ofRedis('Redis flushed', async (redis) => redis.flush())

/** Some or all nodes wait for answers that do not come. */
export const freezeRedisLines = ofRedis('Redis blackholed', async (_, rig) => {
  const lines = someLines(rig)
  for (const line of lines) line.freeze()
  await delay(rig.random.between(500, 8_000))
  for (const line of lines) line.thaw()
})

/** The connections that are open lose everything. The nodes notice by their own deadlines. */
export const silenceRedisLines = ofRedis('Redis half-open', async (_, rig) => {
  for (const line of someLines(rig)) line.silence()
  await delay(rig.random.between(1_000, 4_000))
})

export const cutRedisLines = ofRedis('Redis cut', async (_, rig) => {
  for (const line of someLines(rig)) line.cut()
})

/** The server that leads dies, or hands over to its replica. */
export const failRedisOver = ofRedis('Redis failed over', (redis, { random }) =>
  redis.failOver(random.pick(['killed', 'killed', 'planned']), random.between(0, 2_000)),
)

function someLines({ nodes, random }: Rig) {
  const lines = nodes.map(({ redisLine }) => redisLine)
  return random.fraction() < 0.3 ? lines : [random.pick(lines)]
}
