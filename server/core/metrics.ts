import { limits } from '@parley/contract'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { logOutput } from './log-output.ts'
import { countTopApps } from './top-apps.ts'

export type Metrics = ReturnType<typeof createMetrics>

/** The Prometheus metrics that this process updates itself. */
export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  new Gauge({
    name: 'parley_build_info',
    help: 'Always 1: the version of the server, and that of Node.js.',
    labelNames: ['version', 'node'] as const,
    aggregator: 'first',
    registers,
  }).set({ version: limits.apiVersion, node: process.versions.node }, 1)
  return {
    registry,
    operations: new Histogram({
      name: 'parley_operation_seconds',
      help: 'Duration of calls by operation (noun.verb) and outcome (ok or the error code).',
      labelNames: ['operation', 'outcome'] as const,
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    }),
    jobs: new Counter({
      name: 'parley_jobs_total',
      help: 'Job runs by task and outcome: done, put_off, failed, given_up or dropped.',
      labelNames: ['task', 'outcome'] as const,
      registers,
    }),
    cleanupFailures: new Counter({
      name: 'parley_cleanup_failures_total',
      help: 'Failed parts of the cleanup by task. The next cleanup tries them again.',
      labelNames: ['task'] as const,
      registers,
    }),
    logLinesLost: new Counter({
      name: 'parley_log_lines_lost_total',
      help: 'Lines of the log that were lost: its disk was full, or nobody read it.',
      registers,
      collect() {
        this.reset()
        this.inc(logOutput().lost())
      },
    }),
    pushes: new Counter({
      name: 'parley_pushes_total',
      help: 'Pushes by outcome: accepted or refused by the provider, or put_off.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    previews: new Counter({
      name: 'parley_previews_total',
      help: 'Link previews by outcome: found or missed when fetched, or cached.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    webhookDeliveries: new Counter({
      name: 'parley_webhook_deliveries_total',
      help: 'Attempts to deliver to webhooks by outcome: delivered, put_off or failed.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    webhooksDisabled: new Counter({
      name: 'parley_webhooks_disabled_total',
      help: 'Webhooks that were disabled by reason: failing for days, or gone.',
      labelNames: ['reason'] as const,
      registers,
    }),
    beforeSend: new Counter({
      name: 'parley_before_send_total',
      help: 'Messages screened by before-send hooks by outcome: allow, change, refuse, or error.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    imports: new Counter({
      name: 'parley_imports_total',
      help: 'Ended imports by outcome: finished, unfinished (nothing is shown yet) or failed.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    importsRunning: new Gauge({
      name: 'parley_imports_running',
      help: 'Imports that this process is reading.',
      registers,
    }),
    importedRecords: new Counter({
      name: 'parley_imported_records_total',
      help: 'Records of imports by outcome: imported, skipped (known already) or refused.',
      labelNames: ['outcome'] as const,
      registers,
    }),
    events: new Counter({
      name: 'parley_events_total',
      help: 'Durable events published by this process, each to one topic.',
      registers,
    }),
    callsWaiting: new Gauge({
      name: 'parley_calls_waiting',
      help: 'Calls that wait because their user or app has as many running as it may.',
      registers,
    }),
    callsRefused: new Counter({
      name: 'parley_calls_refused_total',
      help: 'Calls refused by reason: queue full, too late, caller gone, before-send hook busy.',
      labelNames: ['reason'] as const,
      registers,
    }),
    responses: new Counter({
      name: 'parley_http_responses_total',
      help: 'Responses by status, those to requests without an operation included.',
      labelNames: ['status'] as const,
      registers,
    }),
    credentialsRefused: new Counter({
      name: 'parley_credentials_refused_total',
      help: 'Refused credentials by kind (token, api_key, admin_key, ws_token, none) and code.',
      labelNames: ['credential', 'code'] as const,
      registers,
    }),
    countAppCall: countTopApps(registry, {
      name: 'parley_top_app_calls',
      help: 'Calls in the last full minute, of the ten apps with the most.',
    }),
    countAppRateLimited: countTopApps(registry, {
      name: 'parley_top_app_rate_limited',
      help: 'Calls over a rate limit in the last full minute, of the ten apps with the most.',
    }),
    sockets: new Gauge({
      name: 'parley_sockets_open',
      help: 'Open connections of this process by transport: websocket, http_stream or sse.',
      labelNames: ['transport'] as const,
      registers,
    }),
    socketCloses: new Counter({
      name: 'parley_socket_closes_total',
      help: 'Closed connections by close code; other: a code that only a client can have sent.',
      labelNames: ['code'] as const,
      registers,
    }),
    slowConsumers: new Counter({
      name: 'parley_slow_consumers_total',
      help: 'Sockets closed because their client did not read: unread (its own limit) or memory.',
      labelNames: ['reason'] as const,
      registers,
    }),
    deliverySeconds: new Histogram({
      name: 'parley_delivery_seconds',
      help:
        'From the commit of an event to its writing to the sockets of this process, by the node ' +
        'that committed it: own or other (then by the clock of that node, or, where it was read ' +
        'from the database, from the beginning of its transaction).',
      labelNames: ['origin'] as const,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    deliveries: new Counter({
      name: 'parley_deliveries_total',
      help: 'Publications delivered to subscriptions; one publication counts once a subscription.',
      registers,
    }),
    eventMemory: new Gauge({
      name: 'parley_event_memory_bytes',
      help: 'Memory of the events that topics keep for reconnecting clients and gaps.',
      registers,
    }),
    topicsEvicted: new Counter({
      name: 'parley_topics_evicted_total',
      help: 'Topics whose events were dropped from memory, because EVENT_MEMORY_MB was used up.',
      registers,
    }),
    sendMemory: new Gauge({
      name: 'parley_send_memory_bytes',
      help: 'Memory of the frames that are not written to their sockets yet.',
      registers,
    }),
    socketsCut: new Counter({
      name: 'parley_sockets_cut_total',
      help: 'Sockets that were cut because they left, or sent, too much for SEND_MEMORY_MB.',
      registers,
    }),
    unreadAnswers: new Gauge({
      name: 'parley_unread_answer_bytes',
      help: 'Memory of the answers to requests that their clients have not read yet.',
      registers,
    }),
    answersCut: new Counter({
      name: 'parley_answers_cut_total',
      help: 'Answers that were cut, the oldest first, because SEND_MEMORY_MB was used up.',
      registers,
    }),
    arrivingBodies: new Gauge({
      name: 'parley_arriving_body_bytes',
      help: 'Memory of the bodies of requests that have not arrived whole.',
      registers,
    }),
    bodiesCut: new Counter({
      name: 'parley_bodies_cut_total',
      help: 'Bodies that were cut, the oldest first, because SEND_MEMORY_MB was used up.',
      registers,
    }),
    redisTopics: new Gauge({
      name: 'parley_redis_topics',
      help: 'The topics whose notes this process receives through Redis.',
      registers,
    }),
    notesLost: new Counter({
      name: 'parley_notes_lost_total',
      help: 'Notes to other nodes, or payloads of them, that the broker did not take.',
      labelNames: ['broker'] as const,
      registers,
    }),
    editsGivenUp: new Counter({
      name: 'parley_channel_edits_given_up_total',
      help:
        'Edits of channels that were not sent to the members on this process: that failed for ' +
        'ten minutes, or for too many channels.',
      registers,
    }),
    profilesGivenUp: new Counter({
      name: 'parley_profile_changes_given_up_total',
      help:
        'New names and images that were not sent to the users on this process: that failed for ' +
        'ten minutes, or for too many users.',
      registers,
    }),
    gapsFilled: new Counter({
      name: 'parley_gaps_filled_total',
      help:
        'Events read from the log to fill a gap by reason: hint (of another node, without the ' +
        'event), reorder, subscribe, or missed (found by comparing with the database).',
      labelNames: ['reason'] as const,
      registers,
    }),
  }
}
