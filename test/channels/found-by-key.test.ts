import { expect, test } from 'vitest'
import { insertChannels } from '../support/inserted.ts'
import { quietTimings } from '../support/quiet.ts'
import { discardPlans, type PlanKind, rowsReadBy } from '../support/rows-read.ts'
import { useWorld } from '../support/world.ts'

const world = useWorld({ poolSize: 1, timings: quietTimings })

/** More than an answer shows of anything, and far fewer than the app has channels. */
const FEW = 100
const CHANNELS = 2_000

test.each<PlanKind>(['generic', 'custom'])(
  'a channel that exists is found by its key, however many the app has (%s plan)',
  async (plan) => {
    const [ana] = await world().users('ana', 'ben')
    await insertChannels(world(), plan, CHANNELS)
    await world().db`vacuum analyze channels`
    await discardPlans(world())
    const wanted = {
      'direct message': () => ana.channels.create({ type: 'messaging', memberIds: ['ben'] }),
      'client id': () =>
        ana.channels.create({ type: 'group', name: 'Keyed', clientId: `key of ${plan}` }),
      'taken name': () => ana.channels.create({ type: 'group', name: 'Taken' }),
    }
    for (const [name, create] of Object.entries(wanted)) {
      const { id } = await create()
      expect(await rowsReadBy(world(), plan, create), name).toBeLessThan(FEW)
      if (name !== 'taken name') expect((await create()).id).toBe(id)
    }
  },
)
