import { readFile } from 'node:fs/promises'

/**
 * Leaves out of the `centrifuge` package what Parley's protocol has no use for: other transports than WebSocket, key-value
 * and polled subscriptions, binary deltas, debug output, and of Node's EventEmitter all but `on` and `emit`. More than half
 * of it. What is named here and not found fails the build.
 *
 * To upgrade: set the version in package.json and build. Take what is not found any more from the lists below, then look
 * through the change log and the methods of the new version for more that Parley does not use (`node build.js` tells the
 * size). The tests in test/sdk and test/realtime run against the whole package, test/sdk/package.test.ts against what is
 * left here: run them all. The years in THIRD-PARTY-LICENSES are those of its LICENSE.
 */
export const slimTransport = {
  name: 'slim-transport',
  setup({ onLoad }) {
    onLoad({ filter: /centrifuge\/build\/index\.mjs$/ }, async ({ path }) => {
      const whole = (await readFile(path, 'utf8')).replaceAll('\r\n', '\n')
      return { contents: cuts.reduce((text, { pattern, by }) => replace(text, pattern, by), whole) }
    })
  },
}

const classes = [
  'MapSubscription', 'SharedPollSubscription', 'SockjsTransport', 'HttpStreamTransport', 'SseTransport', 'WebtransportTransport', 'ReplyStreamBuffer',
  'LineStreamBuffer', 'Reader', 'Writer',
]
const methods = [
  '_sendTrackRequest', '_sendUntrackRequest', '_handleTrackResponse', '_maybeScheduleSharedPollSignatureRefresh', '_handleTrackError',
  '_untrackFailedKeys', '_sharedPollRefreshSignature', '_sharedPollReplayTrack', '_mapSubscribe', '_fetchSnapshot', '_handleMapStateResponse',
  '_fetchStream', '_handleMapStreamResponse', '_handleMapLiveResponse', '_handleMapSubscribeError', '_buildMapSubscribeCommand',
  '_getMapUpdateContext', '_sharedPollSerial', '_scheduleSharedPollReplayRetry', '_restartMapFlow', '_transitionFromSnapshot', '_loadStreamState',
  '_addSharedPollSignature', '_sharedPollRequestFailed', '_getSharedPollUpdateContext', '_debouncedPublish', 'deltaStats', '_seedDeltaTracking',
  '_handleJoin', '_handleLeave', '_processServerSubs', 'presence', 'presenceStats', 'newMapSubscription', 'newMapClientsSubscription',
  'newMapUsersSubscription', 'newSharedPollSubscription',
]

const emitter = `class EventEmitter {
  _listeners = {}
  on(event, listener) { (this._listeners[event] ??= []).push(listener); return this }
  emit(event, ...details) { for (const listener of [...(this._listeners[event] ?? [])]) listener(...details) }
}`
const cuts = [
  ...methods.map((name) => ({ pattern: new RegExp(`^    ${name}\\([^\\n]*\\) \\{\\n[^]*?^    \\}$`, 'm'), by: `    ${name}() {}` })),
  ...classes.map((name) => ({ pattern: new RegExp(`^class ${name} (extends \\w+ )?\\{\\n[^]*?^\\}$`, 'm'), by: `class ${name} {}` })),
  { pattern: /^function applyDelta\([^]*?^\}$/m, by: 'function applyDelta() {}' },
  { pattern: /^function requireEvents \(\) \{\n[^]*?^\}$/m, by: '' },
  { pattern: /^var eventsExports = requireEvents\(\);\nvar EventEmitter = .*$/m, by: emitter },
  { pattern: /^ +\w+\._debug\(.*\);$/gm, by: '' },
]

function replace(text, pattern, by) {
  const replaced = text.replace(pattern, () => by)
  if (replaced === text) throw new Error(`not in this version of centrifuge: ${pattern}`)
  return replaced
}
