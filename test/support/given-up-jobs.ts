import { beforeEach, onTestFinished } from 'vitest'
import { idle } from './idle.ts'
import { until } from './until.ts'
import { useWorldWithProvider } from './world.ts'

/** A world with a push provider, whose jobs may be given up; each test begins without any. */
export function useGivenUpJobs() {
  const errors: object[] = []
  const { world, provider } = useWorldWithProvider({
    // The cleanup runs at the start and when a test asks for it: it deletes what they make old.
    timings: { cleanupMs: 3_600_000 },
    log: {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (facts, message) => void errors.push({ ...facts, message }),
    },
  })
  beforeEach(async () => {
    provider().behave()
    await idle(world())
    await world().db`delete from graphile_worker._private_jobs`
    provider().forget()
    errors.length = 0
  })

  const givenUpJobs = async (appId = world().appId) =>
    (await world().operator.jobs.list({ appId, state: 'failed' })).jobs
  const retry = (jobId: string, appId = world().appId) =>
    world().operator.jobs.retry({ appId, jobId })

  /** For a test that leaves jobs which nothing runs. */
  const deleteJobsLater = () =>
    onTestFinished(async () => void (await world().db`delete from graphile_worker._private_jobs`))

  /** Stages the push of a message, as its send did hours ago. */
  const stageOld = (messageId: string, { appId = world().appId, hours = 7 } = {}) => world().db`
    insert into staged_jobs (task, payload, created_at)
    values (
      'push-message',
      ${world().db.json({ appId, messageId })},
      now() - make_interval(hours => ${hours})
    )`
  const sendMessage = async () => {
    const [ana] = await world().users('ana', 'ben')
    const channel = await ana.channels.create({ type: 'group', name: 'Talk', memberIds: ['ben'] })
    const message = await ana.messages.send({ channelId: channel.id, text: 'hello' })
    await idle(world())
    provider().forget()
    return message
  }
  /** The job that is given up next. It is stored first and logged then. */
  const nextGivenUp = async () => {
    const job = await until(async () => (await givenUpJobs())[0])
    await until(() => errors.length > 0)
    return job
  }
  return {
    ...{ world, provider, errors, givenUpJobs, nextGivenUp, retry },
    ...{ deleteJobsLater, stageOld, sendMessage },
  }
}
