import { limits } from '@parley/contract'
import { insertGivenUpJob } from '../given-up-job.ts'
import type { Big, Operations } from './operation.ts'

/** The operations of the service's operator. */
export async function ofOperators(big: Big): Promise<Operations> {
  const { operator, world, large, webhook, counts, unique } = big
  const { appId } = world
  const jobIds: string[] = []
  for (let made = 0; made < 3; made++) jobIds.push(await insertGivenUpJob(world, appId))
  const scans = "the table of jobs is graphile-worker's own"
  const retried = async () => {
    const jobId = await insertGivenUpJob(world, appId)
    await operator.jobs.retry({ appId, jobId })
  }
  return {
    'apps.list': { returned: 50, run: () => operator.apps.list({ limit: 50 }) },
    'apps.create and apps.delete': {
      returned: 2,
      scans,
      times: 3,
      run: async () => {
        const { id } = await operator.apps.create({ name: 'Short' })
        await operator.apps.delete({ appId: id })
        await world.cleanup.run()
      },
    },
    'apps.get': { returned: 1, run: () => operator.apps.get({ appId }) },
    'apps.update': { returned: 1, run: () => operator.apps.update({ appId, name: unique() }) },
    'apps.usage': {
      returned: 1,
      grows: {
        of: `the users and channels, up to ${limits.usage.counted}`,
        count: Math.min(limits.usage.counted, counts.users) + counts.channels,
      },
      run: () => operator.apps.usage({ appId }),
    },
    'apps.listKeys': { returned: 1, run: () => operator.apps.listKeys({ appId }) },
    'apps.createKey, apps.updateKey and apps.deleteKey': {
      returned: 3,
      run: async () => {
        const { id: keyId } = await operator.apps.createKey({ appId })
        await operator.apps.updateKey({ appId, keyId, name: 'New' })
        await operator.apps.deleteKey({ appId, keyId })
      },
    },
    'inspect.users': { returned: 50, run: () => operator.inspect.users({ appId, limit: 50 }) },
    'inspect.notifications': {
      returned: 1,
      run: () => operator.inspect.notifications({ appId, userId: 'busy' }),
    },
    'inspect.channels': {
      returned: 50,
      run: () => operator.inspect.channels({ appId, limit: 50 }),
    },
    'inspect.channels, rare q': {
      returned: 1,
      beside: 3 * limits.inspectSlice,
      run: () => operator.inspect.channels({ appId, q: 'zzz', limit: 50 }),
    },
    'inspect.channels of busy': {
      returned: 50,
      grows: { of: "the user's channels", count: counts.channelsOfBusy },
      run: () => operator.inspect.channels({ appId, userId: 'busy', limit: 50 }),
    },
    'inspect.messages': {
      returned: 50,
      run: () => operator.inspect.messages({ appId, channelId: large, limit: 50 }),
    },
    'inspect.messages, rare q': {
      returned: 1,
      beside: 3 * limits.inspectSlice,
      run: () => operator.inspect.messages({ appId, channelId: large, q: 'zzz', limit: 50 }),
    },
    'inspect.webhooks': { returned: 1, run: () => operator.inspect.webhooks({ appId }) },
    'inspect.deliveries': {
      returned: 50,
      run: () => operator.inspect.deliveries({ appId, webhookId: webhook, limit: 50 }),
    },
    'audit.list': {
      returned: 100,
      beside: 2 * limits.auditSlice,
      run: () => operator.audit.list({}),
    },
    'audit.listOfApp, rare operation': {
      returned: 1,
      beside: 2 * limits.auditSlice,
      run: () => operator.audit.listOfApp({ appId, operation: 'none' }),
    },
    'jobs.list': { returned: jobIds.length, scans, run: () => operator.jobs.list({ appId }) },
    'jobs.retry': { returned: 1, run: retried },
  }
}
