import { readFile } from 'node:fs/promises'

/**
 * Removes from the `centrifuge` package what Parley's protocol does not use: transports other than
 * WebSocket, key-value and polled subscriptions, binary deltas, debug output, and all of Node's
 * EventEmitter except `on` and `emit`. That is more than half of it. The build fails if something
 * named here is not found.
 *
 * To upgrade: set the version in package.json and build. Remove from the lists below what is not
 * found any more, then look through the change log and the methods of the new version for more
 * that Parley does not use (`node build.js` prints the size). The tests in test/sdk and
 * test/realtime run against the whole package, test/sdk/package.test.ts against the reduced one:
 * run them all. Copy the years of its LICENSE to THIRD-PARTY-LICENSES.
 */
export const slimTransport = {
  name: 'slim-transport',
  setup({ onLoad }) {
    onLoad({ filter: /centrifuge\/build\/index\.mjs$/ }, async ({ path }) => {
      const source = (await readFile(path, 'utf8')).replaceAll('\r\n', '\n')
      return { contents: cuts.reduce(replace, source) }
    })
  },
}

const classes = [
  'MapSubscription',
  'SharedPollSubscription',
  'SockjsTransport',
  'HttpStreamTransport',
  'SseTransport',
  'WebtransportTransport',
  'ReplyStreamBuffer',
  'LineStreamBuffer',
  'Reader',
  'Writer',
]
const methods = [
  '_sendTrackRequest',
  '_sendUntrackRequest',
  '_handleTrackResponse',
  '_maybeScheduleSharedPollSignatureRefresh',
  '_handleTrackError',
  '_untrackFailedKeys',
  '_sharedPollRefreshSignature',
  '_sharedPollReplayTrack',
  '_mapSubscribe',
  '_fetchSnapshot',
  '_handleMapStateResponse',
  '_fetchStream',
  '_handleMapStreamResponse',
  '_handleMapLiveResponse',
  '_handleMapSubscribeError',
  '_buildMapSubscribeCommand',
  '_getMapUpdateContext',
  '_sharedPollSerial',
  '_scheduleSharedPollReplayRetry',
  '_restartMapFlow',
  '_transitionFromSnapshot',
  '_loadStreamState',
  '_addSharedPollSignature',
  '_sharedPollRequestFailed',
  '_getSharedPollUpdateContext',
  '_debouncedPublish',
  'deltaStats',
  '_seedDeltaTracking',
  '_handleJoin',
  '_handleLeave',
  '_processServerSubs',
  'presence',
  'presenceStats',
  'rpc',
  'setTagsFilter',
  'newMapSubscription',
  'newMapClientsSubscription',
  'newMapUsersSubscription',
  'newSharedPollSubscription',
  'track',
  'untrack',
  'trackedKeys',
  'mapPublish',
  'mapRemove',
  'mapSubscriptions',
  'sharedPollSubscriptions',
  'getMapSubscription',
  'getSharedPollSubscription',
  '_getJoinLeaveContext',
]

const emitter = `class EventEmitter {
  _listeners = {}
  on(event, listener) {
    (this._listeners[event] ??= []).push(listener)
    return this
  }
  emit(event, ...details) {
    for (const listener of [...(this._listeners[event] ?? [])]) listener(...details)
  }
}`
const cuts = [
  ...methods.map((name) => ({
    pattern: new RegExp(`^    ${name}\\([^\\n]*\\) \\{\\n[^]*?^    \\}$`, 'm'),
    replacement: `    ${name}() {}`,
  })),
  ...classes.map((name) => ({
    pattern: new RegExp(`^class ${name} (extends \\w+ )?\\{\\n[^]*?^\\}$`, 'm'),
    replacement: `class ${name} {}`,
  })),
  {
    pattern: /^function applyDelta\([^]*?^\}$/m,
    replacement: 'function applyDelta() {}',
  },
  { pattern: /^function requireEvents \(\) \{\n[^]*?^\}$/m, replacement: '' },
  {
    pattern: /^var eventsExports = requireEvents\(\);\nvar EventEmitter = .*$/m,
    replacement: emitter,
  },
  { pattern: /^ +\w+\._debug\(.*\);$/gm, replacement: '' },
]

function replace(text, { pattern, replacement }) {
  const replaced = text.replace(pattern, () => replacement)
  if (replaced === text) throw new Error(`not in this version of centrifuge: ${pattern}`)
  return replaced
}
