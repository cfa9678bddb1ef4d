import { readFile } from 'node:fs/promises'

/**
 * Leaves out of the `centrifuge` package what Parley's protocol has no use for: other transports than WebSocket, key-value
 * and polled subscriptions, binary deltas. Half of it. What is named here and not found fails the build.
 */
export const slimTransport = {
  name: 'slim-transport',
  setup({ onLoad }) {
    onLoad({ filter: /centrifuge\/build\/index\.mjs$/ }, async ({ path }) => {
      const whole = (await readFile(path, 'utf8')).replaceAll('\r\n', '\n')
      const withoutMethods = methods.reduce((text, name) => replace(text, new RegExp(`^    ${name}\\([^\\n]*\\) \\{\\n[^]*?^    \\}$`, 'm'), `    ${name}() {}`), whole)
      const withoutDeltas = replace(withoutMethods, /^function applyDelta\([^]*?^\}$/m, 'function applyDelta() {}')
      return { contents: classes.reduce((text, name) => replace(text, new RegExp(`^class ${name} \\{\\n[^]*?^\\}$`, 'm'), `class ${name} {}`), withoutDeltas) }
    })
  },
}

const classes = ['SockjsTransport', 'HttpStreamTransport', 'SseTransport', 'WebtransportTransport', 'ReplyStreamBuffer', 'LineStreamBuffer', 'Reader', 'Writer']
const methods = [
  '_sendTrackRequest', '_sendUntrackRequest', '_handleTrackResponse', '_maybeScheduleSharedPollSignatureRefresh', '_handleTrackError', '_untrackFailedKeys',
  '_sharedPollRefreshSignature', '_sharedPollReplayTrack', '_mapSubscribe', '_fetchSnapshot', '_handleMapStateResponse', '_fetchStream',
  '_handleMapStreamResponse', '_handleMapLiveResponse', '_handleMapSubscribeError', '_buildMapSubscribeCommand', '_getMapUpdateContext',
  '_sharedPollSerial', '_scheduleSharedPollReplayRetry', '_restartMapFlow', '_transitionFromSnapshot', '_loadStreamState', '_addSharedPollSignature', '_sharedPollRequestFailed', '_getSharedPollUpdateContext',
  '_debouncedPublish', 'deltaStats', '_seedDeltaTracking', '_handleJoin', '_handleLeave', '_processServerSubs', 'presence', 'presenceStats', 'newMapSubscription', 'newMapClientsSubscription', 'newMapUsersSubscription', 'newSharedPollSubscription',
] // biome-ignore format: a list

function replace(text, pattern, by) {
  if (!pattern.test(text)) throw new Error(`not in this version of centrifuge: ${by}`)
  return text.replace(pattern, by)
}
