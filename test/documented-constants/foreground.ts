import {
  type Documented,
  GUIDE,
  INSTALL,
  INTERNALS,
  JOBS,
  OPERATIONS,
  PRIVACY,
  PROGRAM,
  README,
  REALTIME,
  REFERENCE,
  RELIABILITY,
  SCALING,
  WEBHOOKS,
} from './pages.ts'

/** Programs, requests, the database and the client. */
export const ofForeground: Documented = {
  'client-sdk/calls/retry.ts': [
    ['LONGEST_RETRY_AFTER_MS = 5 * 60_000', GUIDE, 'up to five minutes'],
    ['LONGEST_CALL_PAUSE_MS = 10_000', GUIDE, 'longer than ten seconds'],
  ],
  'client-sdk/channels/list.ts': [['MAX_UNWATCHED = 200', GUIDE, 'keeps its first 200']],
  'client-sdk/channels/subscriptions.ts': [
    ['MAX_SUBSCRIPTIONS = 500', REFERENCE, 'The topics of 500 channels'],
  ],
  'client-sdk/client.ts': [['KEPT_ROOMS = 20', GUIDE, 'the last 20 rooms do so']],
  'client-sdk/outbox/sender.ts': [['MAX_SERVER_FAILURES = 10', GUIDE, 'failed at ten times']],
  'client-sdk/package.json': [['"node": ">=20.19"', GUIDE, 'Node.js ≥ 20.19']],
  'client-sdk/protocol/stream-socket.ts': [
    ['OPEN_MS = 5_000', OPERATIONS, 'no reply comes within five seconds'],
    ['RETRY_MS = 600_000', REALTIME, 'a WebSocket every ten minutes'],
  ],
  'client-sdk/room/snapshot.ts': [
    ['MAX_SNAPSHOT = 100', REFERENCE, 'of a room, up to 100; 50 by default'],
  ],
  'client-sdk/shared/timing.ts': [
    ['{ timeoutMs = 15_000, signal }: CallOptions', REFERENCE, '15,000 by default'],
    ['LONGEST_TIMER_MS = 2 ** 31 - 1', REFERENCE, '(24 days)'],
  ],
  'client-sdk/snapshots.ts': [
    [
      'limits = { rooms: 20, messages: 50, channels: 50, length: 200_000, intervalMs: 2_000 }',
      GUIDE,
      'the last 20 rooms, 50 messages of each and 50 channels',
    ],
    [
      'limits = { rooms: 20, messages: 50, channels: 50, length: 200_000, intervalMs: 2_000 }',
      GUIDE,
      'stored every two seconds',
    ],
    [
      'limits = { rooms: 20, messages: 50, channels: 50, length: 200_000, intervalMs: 2_000 }',
      REFERENCE,
      'channels of the list; 50 by default',
    ],
    [
      'limits = { rooms: 20, messages: 50, channels: 50, length: 200_000, intervalMs: 2_000 }',
      REFERENCE,
      '200,000 by default',
    ],
    [
      'limits = { rooms: 20, messages: 50, channels: 50, length: 200_000, intervalMs: 2_000 }',
      REFERENCE,
      'milliseconds; 2,000 by default',
    ],
    [
      'limits = { rooms: 20, messages: 50, channels: 50, length: 200_000, intervalMs: 2_000 }',
      REFERENCE,
      'that changed; 20 by default',
    ],
  ],
  'server/bin/parley.ts': [
    ['OLDEST_NODE = [20, 19] as const', README, 'Node 20.19 or newer'],
    ['OLDEST_NODE = [20, 19] as const', PROGRAM, 'Node.js 20.19 or newer'],
    ['OLDEST_NODE = [20, 19] as const', INSTALL, 'needs Node.js 20.19 or newer'],
  ],
  'server/commands/new-epoch.ts': [
    ["RUNNING = '10 seconds'", OPERATIONS, 'for 10 s after one was'],
  ],
  'server/commands/start.ts': [
    [
      'timer = setTimeout(() => app.server.closeAllConnections(), 6_000)',
      README,
      'then have 6 s to finish',
    ],
    [
      'timer = setTimeout(() => app.server.closeAllConnections(), 6_000)',
      OPERATIONS,
      'progress have 6 s',
    ],
  ],
  'server/commands/unaccepted.ts': [['ANSWER_MS = 1_000', SCALING, 'is closed after a second']],
  'server/commands/worker-pool.ts': [
    ['HEALTHY_MS = 10_000', INTERNALS, 'lived less than ten seconds'],
    ['LONGEST_PAUSE_MS = 30_000', SCALING, 'pauses of up to 30 seconds'],
  ],
  'server/config/values.ts': [
    ['(value) => Buffer.byteLength(value.trim()) >= 32', README, 'at least 32 bytes'],
  ],
  'server/core/admission-loads.ts': [
    ['LOOK_UPS = 2', README, 'looked up apart, at most two at once'],
    ['LOOK_UPS = 2', INTERNALS, 'At most two tokens of an app'],
  ],
  'server/core/clock-steps.ts': [
    ['LEAST_STEP_MS = 1_000', RELIABILITY, 'was set, by more than a second'],
  ],
  'server/core/database-metrics.ts': [
    ['DATABASE_ANSWER_MS = 1_800', OPERATIONS, 'takes longer than 1.8 s'],
  ],
  'server/core/jobs.ts': [
    ['MAX_ATTEMPTS = 5', JOBS, '| 5 attempts'],
    ['MAX_ATTEMPTS = 5', JOBS, 'A job that has failed five times'],
  ],
  'server/core/log-output.ts': [
    ['MOST_WAITING = 1024 * 1024', OPERATIONS, 'a megabyte of lines waits'],
  ],
  'server/core/metrics-lease.ts': [
    ['IDLE_MS = 150_000', OPERATIONS, 'after two and a half minutes'],
  ],
  'server/core/opentelemetry.ts': [
    ['FLUSH_MS = 2_000', OPERATIONS, 'waits two seconds at most'],
    ['REPORT_MS = 300_000', OPERATIONS, 'at most every five minutes'],
  ],
  'server/core/top-apps.ts': [
    ['SHOWN = 10', OPERATIONS, 'show the ten apps'],
    ['MINUTE_MS = 60_000', OPERATIONS, 'in the last full minute'],
  ],
  'server/core/touches.ts': [
    ['PRECISION_MS = 60_000', OPERATIONS, 'to about a minute'],
    ['PRECISION_MS = 60_000', REFERENCE, 'last active, to the minute'],
    ['PRECISION_MS = 60_000', 'contract/api-keys.ts', 'accurate to about a minute'],
    ['PRECISION_MS = 60_000', 'contract/users.ts', "one minute.'"],
  ],
  'server/db/connection.ts': [
    ['callMs: 4_500', REALTIME, 'still waits after 4.5 seconds'],
    ['callMs: 4_500', RELIABILITY, 'misses its deadline (4.5 s)'],
    ['callMs: 4_500', RELIABILITY, 'a pool has a deadline (4.5 s)'],
    ['statementMs: 4_000', README, 'are cancelled after 4 s'],
    ['statementMs: 4_000', RELIABILITY, 'statement ends after 4 s'],
    ['statementMs: 4_000', RELIABILITY, 'more than 4 s is tried again'],
    ['IDLE_IN_TRANSACTION_MS = 2_000', RELIABILITY, 'ends that after 2 s'],
    ['IDLE_IN_TRANSACTION_MS = 2_000', RELIABILITY, 'in a transaction for 2 s'],
    ['UNACKNOWLEDGED_MS = 10_000', RELIABILITY, 'not acknowledge for 10 s'],
  ],
  'server/db/embedded/keep-running.ts': [
    ['MAX_RESTARTS = 3', RELIABILITY, 'up to three times within an hour'],
    ['MAX_RESTARTS = 3', INSTALL, 'restarting it (1 of 3)'],
    ['COUNTED_MS = 3_600_000', INSTALL, '4 times within an hour'],
    ['LONGEST_PAUSE_MS = 30_000', OPERATIONS, 'pauses of up to 30 s'],
  ],
  'server/db/embedded/server-log.ts': [
    ['LARGEST_BYTES = 10 * 1024 * 1024', PRIVACY, 'the last 10 MB'],
    ['LARGEST_BYTES = 10 * 1024 * 1024', INSTALL, '10 MB at most'],
  ],
  'server/db/migrate.ts': [
    ['LOCK_WAIT_MS = 1_000', OPERATIONS, 'waits for a second'],
    ['GIVE_UP_MS = 3_600_000', OPERATIONS, 'gives up after an hour'],
  ],
  'server/db/outages.ts': [
    ['FULL_MS = 60_000', OPERATIONS, 'A minute after the last refused'],
    ['FULL_MS = 60_000', 'contract/service.ts', 'none was refused for a minute'],
  ],
  'server/db/paced-sockets.ts': [
    ['LONGEST_PAUSE_MS = 1_000', RELIABILITY, 'pauses of a second at most'],
  ],
  'server/db/requirements.ts': [
    ['OLDEST_VERSION = 150_000', README, 'PostgreSQL 15 or newer'],
    ['OLDEST_VERSION = 150_000', PROGRAM, 'PostgreSQL 15 or newer'],
    ['OLDEST_VERSION = 150_000', INSTALL, 'a PostgreSQL from 15 on'],
  ],
  'server/db/sql.ts': [['pg_snapshot_xmax(seen)::text::float8 * 8192', INTERNALS, 'times 8,192']],
  'server/db/stuck-sessions.ts': [['STUCK_MS = 2_000', RELIABILITY, 'its session waits for 2 s']],
  'server/features/messages/write-tombstones.ts': [
    ['MOST_ROWS = 100', INTERNALS, 'more than 100 events'],
    ['MOST_ROWS = 100', INTERNALS, 'more than 100 reactions'],
    ['MOST_ROWS = 100', PRIVACY, 'a text in over 100 events'],
  ],
  'server/features/search.ts': [['ROWS_IN_ORDER = 2_000', INTERNALS, 'the first 2,000 rows']],
  'server/features/tombstones.ts': [['TOMBSTONE_PART = 500', INTERNALS, 'part of 500 seqs']],
  'server/features/webhooks/resume.ts': [['MOST = 10_000', WEBHOOKS, 'there are more than 10,000']],
  'server/http/console-sessions.ts': [
    ['LIFETIME_SECONDS = 12 * 60 * 60', OPERATIONS, 'ends after twelve hours'],
  ],
  'server/http/fastify.ts': [
    ['requestTimeout: 30_000', README, 'sends nothing is closed after a minute'],
  ],
  'server/http/listen.ts': [['BACKLOG = 4_096', README, 'Up to 4,096 wait']],
  'server/http/rate-limits.ts': [
    ['REPEATS = { lookUps: 20, seconds: 20 }', README, 'about one a second'],
  ],
  'server/http/request-log.ts': [
    ['TYPICAL_BYTES = 400', OPERATIONS, 'longer than 400 bytes'],
    ['SLOW_MS = 1_000', OPERATIONS, 'succeed within a second'],
  ],
  'server/http/shared-windows.ts': [
    ['PATIENCE_MS = 50', INTERNALS, 'for that at most 50 ms'],
    ['PATIENCE_MS = 50', SCALING, 'waits at most 50 ms'],
    ['PAUSE_MS = 1_000', INTERNALS, 'counted here for a second'],
  ],
  'server/http/slow-answers.ts': [
    ['HEARTBEAT_MS = 20_000', 'docs/import.md', 'more than 20 seconds after'],
  ],
  'server/process/lifecycle.ts': [
    ['STOP_TIMEOUT_MS = 13_000', README, 'process ends within 15 s'],
    ['STOP_TIMEOUT_MS = 13_000', OPERATIONS, 'process ends within 15 s'],
  ],
}
