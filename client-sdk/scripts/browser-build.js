import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { minify } from 'terser'

/** Entries that share their code. */
export const front = {
  index: 'index.ts',
  react: 'react/index.ts',
  snapshots: 'snapshots.ts',
  api: 'api.ts',
  testing: 'testing/index.ts',
}
export const shared = {
  absWorkingDir: join(import.meta.dirname, '..'),
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  // Fields without a value need no code of their own.
  tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } },
  // Minifiers do not shorten these.
  define: {
    'Number.POSITIVE_INFINITY': 'Infinity',
    'Number.NaN': 'NaN',
  },
  external: ['react', 'ws', 'standardwebhooks'],
  sourcemap: true,
}
// Nothing outside of the client has these names, which an application's minifier cannot know.
const internal = [
  ...['options', 'handle\\w+', '(main|thread)Windows?', 'justSent', 'was(Tried|Reflected)'],
  ...['isReflected(In|By)', 'isSender', 'currentLoad', 'areFetched'],
  ...['arePinsStale', 'abandonLoads', 'loadWatched', 'loadedStatus', 'pendingReads', 'restorable'],
  ...['serverFailures', 'stopWaiting', 'onTrimmed', 'onAccessLost', 'onGapFilled', 'needsRefetch'],
  ...['take(Settings|Count|Read|ReadAnswer|Result|Profile|Event)', 'requestTotal', 'loadIfIdle'],
  ...['resources', 'catchUp', 'loaderOf', 'onStep', 'hasResponse', 'isRecovered'],
  ...['isWatched', 'chunks', 'updates', 'topicStatus', 'entriesOf', 'startFetch'],
  ...['isElsewhere', 'refusalOf', 'hasLeft', 'isLoggedIn', 'on(Watched|Unwatched|Subscribed)'],
  ...['on(Elected|Left|Sent|Changed|Event|Done|Refused|Restored|Settled)'],
  ...['on(Connected|Push|Open|End|Ended|WebSocket|Loaded|Expired|Missed)', 'isConnected'],
  ...['context', 'outbox', 'topics', 'records', 'invalidate', 'timeline', 'watched', 'isFinal'],
  ...['(first|longest)Ms', 'canLoad', 'endRetries', 'recordedAt', 'readSeq', 'subscriber'],
  ...['isSending', 'isActive', 'backoffMs', 'endsAt', 'currentAt', 'messageOf', 'sentHeaders'],
  ...['refreshInfo', 'applyProfile', 'dropConfirmed', 'take(Answer|Record)'],
  ...['clearReads', 'whenSettled', 'resubscribe', 'isRepeatable'],
  ...['isCurrent', 'presences', 'getToken', 'on(Offline|Result|Epoch)', 'isSingle'],
  ...['ofClient', 'retryInMs', 'isRead', 'transition', 'wasStored', 'isWaiting'],
  ...['startOver', 'isReady', 'loader', 'gate', 'isOpen', 'early', 'copies', 'prepare', 'position'],
  ...['later', 'ownerOf', 'forget', 'retries', 'release', 'changes', 'seqs', 'renew'],
  ...['added', 'direction', 'resource', 'refusal', 'selected', 'complete', 'quoted', 'cache'],
  ...['buffer', 'handOver', 'editedBy', 'listeners', 'isOn', 'gone', 'tabs', 'settle', 'reload'],
  ...['fail', 'store', 'apply', 'operations', 'names', 'range', 'parts?', 'connected'],
  ...['free', 'follow', 'settled', 'attempt', 'path', 'args', 'left', 'promise', 'pause', 'fields'],
  ...['edge', 'cancel', 'redraw', 'userSession', 'tries'],
  ...['recordChanges', 'begin', 'halt', 'keeper', 'outboxApi', 'reopen', 'openFor', 'openSocket'],
  ...['(start|end)Reading', 'isShown', 'post', 'queued', 'link', 'emitter', 'withdraw'],
  ...['span', 'shown', 'take', 'hold', 'check', 'answers', 'completion', 'isHeld'],
  ...['share', 'freshUntil', 'isExpected', 'isConnecting', 'areSettled'],
  ...['replaced', 'profiles', 'is(Refused|Wanted)', 'idOf', 'waitingOf', 'sender'],
]

/**
 * The files of the client as browsers load it, with its internal names shortened. Tests run against
 * what this makes, since a name that is also reached by a string is only found missing there.
 */
export async function buildForBrowsers(options) {
  const { outputFiles, ...result } = await build({
    ...shared,
    entryPoints: front,
    conditions: ['parley-source'],
    mangleProps: new RegExp(`^(${internal.join('|')})$`),
    reserveProps: /^handleEpoch$/,
    minifySyntax: true,
    mangleCache: {},
    ...options,
    write: false,
  })
  const files = new Map(outputFiles.map(({ path, text }) => [path, text]))
  for (const [path, text] of files) {
    const map = files.get(`${path}.map`)
    if (path.endsWith('.js')) await compress(path, { text, map, files })
  }
  return { ...result, files }
}

/** Writes what is used once, and constants, where they are used: esbuild keeps a name for each. */
async function compress(path, { text, map, files }) {
  const { code, map: compressed } = await minify(text, {
    module: true,
    ecma: 2022,
    // Functions that stand side by side compress better, by 1 %.
    compress: {
      ...{ passes: 2, inline: 1, reduce_funcs: false, hoist_funs: true, directives: false },
      // No getter of the client has an effect.
      ...{ pure_getters: true, lhs_constants: false, sequences: false },
    },
    mangle: false,
    format: { beautify: true, preserve_annotations: true },
    sourceMap: map && { content: map, includeSources: true, url: `${basename(path)}.map` },
  })
  files.set(path, code)
  if (map) files.set(`${path}.map`, compressed)
}
