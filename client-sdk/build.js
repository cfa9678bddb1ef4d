import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { buildForBrowsers, front, shared } from './browser-build.js'
import { publicNames } from './public-names.js'

const MAX_CORE_BYTES = 30_000

// The published files: for browsers and React Native without any bare import but React's, and for
// Node.js with its WebSocket.
const here = import.meta.dirname
const dist = join(here, 'dist')
rmSync(dist, { recursive: true, force: true })
<<<<<<< HEAD
=======
const front = {
  index: 'index.ts',
  react: 'react/index.ts',
  snapshots: 'snapshots.ts',
  api: 'api.ts',
  testing: 'testing/index.ts',
}
const shared = {
  absWorkingDir: here,
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
const source = ['parley-source']
// Nothing outside of the client has these names, which an application's minifier cannot know.
const internal = [
  ...['options', 'handle\\w+', '(main|thread)Windows?', 'justSent', 'was(Tried|Reflected)'],
  ...['isReflected(In|By)', 'isConfirmedByResponse', 'isSender', 'currentLoad', 'areFetched'],
  ...['arePinsStale', 'abandonLoads', 'loadWatched', 'loadedStatus', 'pendingReads', 'restorable'],
  ...['serverFailures', 'stopWaiting', 'onTrimmed', 'onAccessLost', 'onGapFilled', 'needsRefetch'],
  ...['take(Settings|Count|Read|ReadAnswer|Result|Profile)', 'requestTotal', 'loadIfIdle'],
  ...['resources', 'catchUp', 'loaderOf', 'onStep', 'hasResponse', 'isRecovered', 'hasGap'],
  ...['isWatched', 'chunks', 'updates', 'topicStatus', 'entriesOf', 'startFetch'],
  ...['isElsewhere', 'refusalOf', 'hasLeft', 'isLoggedIn', 'on(Watched|Unwatched|Subscribed)'],
  ...['on(Started|Elected|Left|Sent|Changed|Event|Waiting|Done|Refused|Restored|Settled)'],
  ...['on(Connected|Push|Open|End|Ended|WebSocket|Loaded|Expired|Missed)', 'isConnected'],
  ...['context', 'outbox', 'topics', 'records', 'invalidate', 'timeline', 'watched', 'isFinal'],
  ...['(first|longest)Ms', 'canLoad', 'endRetries', 'recordedAt', 'readSeq', 'subscriber'],
  ...['isSending', 'isActive', 'backoffMs', 'endsAt', 'currentAt', 'messageOf', 'sentHeaders'],
  ...['refreshInfo', 'applyProfile', 'dropConfirmed', 'take(Answer|Record)', 'applyTotal'],
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
  ...['span', 'shown', 'take', 'hold', 'check', 'share'],
]
>>>>>>> h-open
await build({
  ...shared,
  entryPoints: { ...front, server: 'server.ts' },
  outdir: dist,
  conditions: ['parley-source', 'node'],
})
const { mangleCache: shortened, metafile } = await buildForBrowsers({
  outdir: join(dist, 'browser'),
<<<<<<< HEAD
=======
  conditions: source,
  mangleProps: new RegExp(`^(${internal.join('|')})$`),
  reserveProps: /^handleEpoch$/,
  // Constants are written where they are used.
  minifySyntax: true,
  mangleCache: {},
>>>>>>> h-open
  metafile: true,
})
// What applications, storages and the server know keeps its name, also deep in an exported type.
const files = [...Object.values(front), 'types.ts', 'storage.ts', 'protocol/messages.ts']
const known = publicNames(files.map((file) => join(here, file)))
// What is loaded later keeps the names that it exports.
for (const { entryPoint, exports } of Object.values(metafile.outputs))
  for (const name of entryPoint ? exports : []) known.add(name)
const lost = Object.keys(shortened).filter((name) => known.has(name))
if (lost.length > 0) throw new Error(`public names would be shortened: ${lost.join(', ')}`)
const require = createRequire(join(here, '../package.json'))
const tsc = join(require.resolve('typescript/package.json'), '../bin/tsc')
const config = join(here, 'tsconfig.build.json')
execFileSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' })
await buildCommonJs()

/** A file for each module, so that all entries have the same classes, and the same types. */
async function buildCommonJs() {
  const outdir = join(dist, 'cjs')
  const declarations = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.d.ts'),
  )
  for (const file of declarations) cpSync(join(dist, file), join(outdir, file))
  const modules = declarations.map((file) => file.replace(/\.d\.ts$/, '.ts'))
  await build({
    absWorkingDir: here,
    entryPoints: [...modules, 'websocket.node.ts'],
    outdir,
    outbase: here,
    format: 'cjs',
    platform: 'node',
    target: 'es2022',
    sourcemap: true,
    supported: { 'dynamic-import': false },
  })
  for (const file of [...modules, 'websocket.node.ts']) {
    const path = join(outdir, file.replace(/\.ts$/, '.js'))
    const code = readFileSync(path, 'utf8')
      .replaceAll('require("#websocket")', 'require("./websocket.node.js")')
      .replace(/require\("(\.[^"]+)\.ts"\)/g, 'require("$1.js")')
    writeFileSync(path, code)
  }
  writeFileSync(join(outdir, 'package.json'), '{ "type": "commonjs" }\n')
}

// The size of the core as a browser loads it, without what is loaded later where it is needed.
const loadedLater = {
  name: 'loaded-later',
  setup: ({ onResolve }) =>
    onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    ),
}
const core = await build({
  entryPoints: [join(dist, 'browser/index.js')],
  bundle: true,
  minify: true,
  format: 'esm',
  plugins: [loadedLater],
  write: false,
  logLevel: 'error',
})
const bytes = gzipSync(core.outputFiles[0].contents, { level: 9 }).length
if (bytes > MAX_CORE_BYTES)
  throw new Error(`the core has ${bytes} bytes gzipped; ${MAX_CORE_BYTES} are allowed`)
console.error(`core: ${bytes} of ${MAX_CORE_BYTES} bytes gzipped`)
