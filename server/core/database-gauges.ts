import { Counter, Gauge, type Registry } from 'prom-client'

export type ServiceGauges = ReturnType<typeof createGauges>['ofService']

/** The gauges of this process, and those of the service as a whole. */
export function createGauges(registry: Registry) {
  const registers = [registry]
  const ofService = {
    jobs: new Gauge({
      name: 'parley_jobs_waiting',
      help: 'Jobs by task and state: waiting to run, or dead (given up).',
      labelNames: ['task', 'state'] as const,
      registers,
    }),
    oldestJob: new Gauge({
      name: 'parley_jobs_oldest_seconds',
      help: 'Seconds for which the oldest waiting job has been due.',
      labelNames: ['task'] as const,
      registers,
    }),
    connections: new Gauge({
      name: 'parley_database_connections',
      help: "The service's connections to the database, from all nodes, by state.",
      labelNames: ['state'] as const,
      registers,
    }),
    oldestEvent: new Gauge({
      name: 'parley_events_oldest_seconds',
      help: 'Age of the oldest event kept: above a day, the cleanup does not keep up.',
      registers,
    }),
    oldestDelivery: new Gauge({
      name: 'parley_webhook_oldest_seconds',
      help: 'Age of the oldest delivery that others to its webhook wait for.',
      registers,
    }),
    webhooksFailing: new Gauge({
      name: 'parley_webhooks_failing',
      help: 'Enabled webhooks whose last delivery failed.',
      registers,
    }),
    oldestStaged: new Gauge({
      name: 'parley_staged_jobs_oldest_seconds',
      help: 'Age of the oldest staged job that no worker has taken to the queue yet.',
      registers,
    }),
    purgeBacklog: new Gauge({
      name: 'parley_purge_backlog',
      help: 'Deleted users and channels of which the cleanup has not deleted everything yet.',
      labelNames: ['kind'] as const,
      registers,
    }),
  }
  return {
    ofService,
    up: new Gauge({
      name: 'parley_database_up',
      help: 'Whether the database answered when this was collected.',
      aggregator: 'min',
      registers,
    }),
    countsFailed: new Counter({
      name: 'parley_counts_failed_total',
      help: 'Counts of the whole service that failed or took too long, so that none is shown.',
      labelNames: ['count'] as const,
      registers,
    }),
    poolSize: new Gauge({
      name: 'parley_database_pool_size',
      help: "The size of this process's connection pool.",
      registers,
    }),
    poolWaiting: new Gauge({
      name: 'parley_database_pool_waiting',
      help: 'Calls waiting for a connection from the pool.',
      registers,
    }),
  }
}
