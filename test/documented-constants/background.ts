import {
  type Documented,
  INTERNALS,
  JOBS,
  OPERATIONS,
  PRIVACY,
  README,
  REALTIME,
  RELIABILITY,
  SCALING,
  WEBHOOKS,
} from './pages.ts'

/** What works beside requests: jobs, webhooks, delivery. */
export const ofBackground: Documented = {
  'server/jobs/abandoned.ts': [['INTERVAL_MS = 3_600_000', JOBS, 'once an hour, for channels']],
  'server/jobs/cleanup-tasks.ts': [
    [
      "{ name: 'audit', most: BATCH, run: every(HOUR_MS, expireEntries) }",
      JOBS,
      'follow once an hour',
    ],
    [
      "{ name: 'read_marks', most: MARKS_AT_ONCE, run: every(DAY_MS, thinReadMarks) }",
      JOBS,
      'once a day read times',
    ],
  ],
  'server/jobs/heartbeat.ts': [
    ['MISSED_HEARTBEATS = 3', JOBS, '30 to 40 seconds after its last heartbeat'],
    ['MISSED_HEARTBEATS = 3', JOBS, 'leaves live workers three heartbeats'],
    ['AWAY_HEARTBEATS = 2.5', JOBS, 'no heartbeat for 25 seconds'],
  ],
  'server/jobs/index.ts': [
    ['CONCURRENCY = { previews: 10, push: 4, subscribers: 4 }', JOBS, 'ten messages at once'],
  ],
  'server/jobs/previews/cache.ts': [['CACHE_SECONDS = 24 * 60 * 60', JOBS, 'cached for a day']],
  'server/jobs/previews/fetch.ts': [
    ['PER_HOST: HostLimit = { most: 60, windowMs: 60_000 }', JOBS, 'at most 60 links a minute'],
    ['PER_ADDRESS: HostLimit = { most: 600, windowMs: 60_000 }', JOBS, '600 from one address'],
    ['TIMEOUT_MS = 8_000', JOBS, 'at most eight seconds'],
    ['MAX_BYTES = 512 * 1024', JOBS, 'at most half a megabyte'],
    ['MAX_REDIRECTS = 3', JOBS, 'most three redirects'],
  ],
  'server/jobs/previews/index.ts': [
    ['MOST_PER_USER = 3', JOBS, 'at most three of them from one user'],
  ],
  'server/jobs/push/limit-kept.ts': [
    ['KEPT_AN_HOUR = 100', JOBS, 'up to 100 refusals'],
    ['KEPT_OF_ALL = 1_000', JOBS, '1,000 for all apps'],
  ],
  'server/jobs/push/provider-call.ts': [
    ['MAX_ANSWER_BYTES = 1024 * 1024', JOBS, 'than a megabyte counts'],
    ['CONTENT_REFUSED = [400, 413, 422]', JOBS, 'for its content (400, 413, 422)'],
  ],
  'server/jobs/push/recipients.ts': [
    ['MEMBERS_PER_JOB = 1_000', JOBS, 'more than a thousand members'],
  ],
  'server/jobs/push/subscriber-ids.ts': [['SAMPLE = 1_000', JOBS, 'last thousand devices']],
  'server/jobs/queue-pool.ts': [
    ['query_timeout: 10_000', RELIABILITY, 'query of the job queue 10 s'],
    ['QUEUE_CONNECTIONS = 12', README, 'up to twelve for jobs'],
  ],
  'server/jobs/retained-messages.ts': [
    ['INTERVAL_MS = 3_600_000', PRIVACY, 'about an hour, and then hourly'],
  ],
  'server/jobs/retention.ts': [['BATCH = 1_000', OPERATIONS, 'a thousand rows a statement']],
  'server/jobs/retry-after.ts': [['MAX_RETRY_AFTER_SECONDS = 600', WEBHOOKS, 'up to ten minutes']],
  'server/jobs/run-job.ts': [
    ['DEATHS_BEFORE_SPLIT = 2', JOBS, 'two deaths a batch is split'],
    [
      'backOffFactor = (tries: number) => Math.min(2 ** tries, 600) * (1 + Math.random() / 4)',
      JOBS,
      '1, 2, 4 … 600 seconds',
    ],
  ],
  'server/jobs/tasks.ts': [
    [
      "subscriber: { queue: 'subscribers', batchSize: 1, maxAgeSeconds: 24 * HOUR }",
      JOBS,
      'subscriber updates after a day',
    ],
    ['PUSH_USEFUL = 6 * HOUR', JOBS, '| useful for | 6 hours'],
    ['PUSH_USEFUL = 6 * HOUR', JOBS, 'pushes up after six hours'],
    ['PUSH_USEFUL = 6 * HOUR', OPERATIONS, 'older than six hours'],
    [
      "preview: { queue: 'previews', batchSize: 1, maxAgeSeconds: 24 * HOUR }",
      JOBS,
      '24 hours | 24 hours |',
    ],
    [
      "'push-message': { queue: 'push', batchSize: 100, maxAgeSeconds: PUSH_USEFUL }",
      JOBS,
      '100 messages, 50',
    ],
    [
      "'push-reaction': { queue: 'push', batchSize: 50, maxAgeSeconds: PUSH_USEFUL }",
      JOBS,
      '50 reactions, 1',
    ],
    ['MAX_DEATHS = 20', JOBS, 'survives twenty deaths'],
    ['MAX_DEATHS = 20', JOBS, '21 workers died'],
  ],
  'server/jobs/webhooks/collect.ts': [
    ['MISSED_POLLS = 5', INTERNALS, 'takes over within 14 seconds'],
  ],
  'server/jobs/webhooks/deliver.ts': [
    ['AT_ONCE = 4', WEBHOOKS, 'At most four requests'],
    ['TURN_SHARE = 3', WEBHOOKS, 'free again within 30 seconds'],
    ['MOST_WINDOWS = 10', WEBHOOKS, 'more than 10,000 deliveries'],
  ],
  'server/jobs/webhooks/index.ts': [
    ['AT_ONCE = 40', WEBHOOKS, 'serves 40 webhooks'],
    ['AT_ONCE = 40', INTERNALS, '40 places for working webhooks'],
  ],
  'server/jobs/webhooks/leases.ts': [
    ['MOST_OF_APP = limits.webhooks.most / 2', WEBHOOKS, 'at most ten of each for an app'],
    ['MOST_OF_APP = limits.webhooks.most / 2', INTERNALS, 'at most a quarter of either'],
    ['WINDOW = 1_000', INTERNALS, 'for each thousand deliveries'],
  ],
  'server/jobs/webhooks/line.ts': [
    [
      'PAUSES = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800]',
      WEBHOOKS,
      '5 and 30 seconds, 2, 10 and 30 minutes, 1, 2, 4, 8 and 8 hours: ten times',
    ],
    ['HOLDING_ATTEMPTS = 4', WEBHOOKS, 'until its fourth try'],
    ['HOLDING_ATTEMPTS = 4', INTERNALS, 'failed four times'],
  ],
  'server/realtime/broker/node-broker.ts': [
    [
      'SPARE = { brokerBeatMs: 15_000, brokerSilenceMs: 40_000 }',
      SCALING,
      'a note every 15 seconds',
    ],
  ],
  'server/realtime/broker/note-counts.ts': [
    ['PEER_MS = 60_000', INTERNALS, 'another one within the last minute'],
    ['QUIET_MS = 3_600_000', RELIABILITY, 'without Redis for up to an hour'],
  ],
  'server/realtime/broker/note-sender.ts': [
    ['PAYLOAD_BYTES = 7_900', INTERNALS, '8 kB by `NOTIFY`'],
    ['MOST_CHARACTERS = 8 * 1024 * 1024', INTERNALS, 'a megabyte of notes'],
    ['BUSY_CHARACTERS = MOST_CHARACTERS / 8', INTERNALS, 'a megabyte of notes'],
  ],
  'server/realtime/broker/postgres-broker.ts': [
    ['LONGEST_BEATS = 1.5', RELIABILITY, 'counts the time as 3 s'],
  ],
  'server/realtime/broker/redis-sender.ts': [
    ['PAYLOAD_CHARACTERS = 64 * 1024', INTERNALS, '64 kB in Redis'],
  ],
  'server/realtime/create-node.ts': [
    [
      '{ maxBatch: 1_000, groupOf: ({ appId }) => appId, pause: { eachMs: 20, mostMs: 500 } }',
      INTERNALS,
      '20 ms for each of them, at most half a second',
    ],
  ],
  'server/realtime/credit.ts': [
    ['COMMANDS_PER_SECOND = 100', README, '100 commands a second'],
    ['COMMAND_BURST = 2_500', README, '2,500 at once'],
    ['COMMANDS_PER_SECOND = 100', REALTIME, '100 commands a second'],
    ['COMMAND_BURST = 2_500', REALTIME, '2,500 at once'],
    ['MAX_REFUSED = 1_000', REALTIME, 'after 1,000 of them'],
  ],
  'server/realtime/event-log.ts': [
    ['LEAST_FRAME_SIZE = TOPICS_PER_STATEMENT / 200', INTERNALS, 'up to 200 frames'],
  ],
  'server/realtime/fanout/missed.ts': [
    ['RETRY_MS = 600_000', SCALING, 'members within ten minutes'],
    ['MOST_LOST = 10_000', SCALING, '10,000 other channels'],
  ],
  'server/realtime/fanout/order.ts': [
    ['OFFSETS_MS = 60_000', INTERNALS, 'sent in the last minute'],
  ],
  'server/realtime/grants.ts': [
    ['FULL_FRAMES = 20', INTERNALS, 'as much as 20 of them'],
    ['MEASURED_FRAMES = 100', INTERNALS, 'a hundred full frames'],
  ],
  'server/realtime/hub.ts': [['REORDER_MS = 25', INTERNALS, 'waits 25 ms for it']],
  'server/realtime/presence/known.ts': [
    ['OVERLAP_MS = 30_000', INTERNALS, '30 seconds before the loss'],
    ['SENT_MS = 120_000', INTERNALS, 'kept for two minutes'],
    ['MOST_SENT = 200_000', INTERNALS, 'most 200,000 users'],
  ],
  'server/realtime/sockets/emulation.ts': [
    [
      'OF_SESSION = { requests: 32, characters: 512 * 1024 }',
      REALTIME,
      'more than 32 requests or 512 KB',
    ],
    ['RESEND_MS = 1_000', INTERNALS, 'no node answers within a second'],
  ],
  'server/realtime/sockets/strangers.ts': [['SOCKET_BYTES = 8 * 1024', README, '(8 KB each, and']],
  'server/realtime/streams/index.ts': [
    ['LEFT = 100', INTERNALS, '100 at a time'],
    ['LEFT_AFTER_TIMES = 5', INTERNALS, 'has stored for five seconds'],
  ],
  'server/realtime/subscriber-survey.ts': [
    ['MOST_CLIENTS = 1_000', REALTIME, 'all servers, at most 1,000'],
    ['PATIENCE_MS = 1_000', REALTIME, 'not answer within a second'],
  ],
  'server/realtime/topic/index.ts': [['HELD_ENTRIES = 1_000', INTERNALS, 'up to 1,000 a topic']],
  'server/realtime/topic/recent-events.ts': [
    ['MOST_AGE_MS = 5 * 60_000', INTERNALS, 'from memory for five minutes'],
    ['MOST_AGE_MS = 5 * 60_000', PRIVACY, 'older than five minutes'],
  ],
  'server/realtime/topic/topics.ts': [
    ['IDLE_TOPIC_MS = 30_000', 'docs/architecture.md', '30 s after its last one'],
  ],
  'server/realtime/typing-tracker.ts': [
    ['REMOTE_DELAY_MS = 1_000', RELIABILITY, 'on other nodes after 7 s'],
  ],
  'server/realtime/unread/slow-counts.ts': [
    ['LEFT_OUT_MS = { forAll: 60_000, forOwn: 8_000 }', RELIABILITY, 'again 8 s later'],
  ],
}
