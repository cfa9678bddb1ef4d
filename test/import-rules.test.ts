import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'
import { useLintedFolder } from './support/lint.ts'

const { write, findings, check } = useLintedFolder()

const refused = [
  ['contract/polls.ts', 'fastify'],
  ['contract/polls.ts', '@trpc/server'],
  ['contract/polls.ts', '@parley/server/core/context'],
  ['contract/polls.ts', '../server/core/context.ts'],
  ['contract/polls.ts', 'node:crypto'],
  ['client-sdk/polls.ts', '@parley/server/core/context'],
  ['client-sdk/polls.ts', '../server/core/context.ts'],
  ['client-sdk/polls.ts', '../contract/index.ts'],
  ['client-sdk/polls.ts', './playground/polls.tsx'],
  ['client-sdk/react/polls.ts', '@parley/server/core/context'],
  ['client-sdk/react/polls.ts', '../../server/core/context.ts'],
  ['client-sdk/playground/polls.tsx', '../index.ts'],
  ['client-sdk/playground/polls.tsx', '@parley/client/server'],
  ['client-sdk/playground/polls.tsx', '@parley/server/core/context'],
  ['client-sdk/docs/polls.tsx', '@parley/server/core/context'],
  ['client-sdk/docs/polls.tsx', '../index.ts'],
  ['server/app.ts', './bin/parley.ts'],
  ['server/app.ts', './commands/start.ts'],
  ['server/app.ts', '@parley/client'],
  ['server/app.ts', '../contract/index.ts'],
  ['server/bin/polls.ts', './parley.ts'],
  ['server/bin/polls.ts', '../../client-sdk/index.ts'],
  ['server/process/polls.ts', '../app.ts'],
  ['server/process/polls.ts', '../commands/start.ts'],
  ['server/process/polls.ts', '../features/polls.ts'],
  ['server/config/polls.ts', '../process/lifecycle.ts'],
  ['server/config/polls.ts', '../http/errors.ts'],
  ['server/config/polls.ts', '../../contract/index.ts'],
  ['server/http/polls.ts', '../app.ts'],
  ['server/http/polls.ts', '../config/index.ts'],
  ['server/http/polls.ts', '../realtime/hub.ts'],
  ['server/http/openapi/polls.ts', '../../jobs/index.ts'],
  ['server/http/openapi/polls.ts', '../../../contract/index.ts'],
  ['server/commands/polls.ts', '../bin/parley.ts'],
  ['server/commands/polls.ts', '@parley/client'],
  ['server/http/polls.ts', '../commands/start.ts'],
  ['server/realtime/polls.ts', '../bin/parley.ts'],
  ['server/realtime/polls.ts', '../http/errors.ts'],
  ['server/realtime/protocol/polls.ts', '../../jobs/index.ts'],
  ['server/jobs/polls.ts', '../app.ts'],
  ['server/jobs/polls.ts', '../config/index.ts'],
  ['server/jobs/polls.ts', '../http/errors.ts'],
  ['server/jobs/push/polls.ts', '../../realtime/broker.ts'],
  ['server/jobs/push/polls.ts', '../../../client-sdk/index.ts'],
  ['server/features/polls.ts', '../http/errors.ts'],
  ['server/features/polls.ts', '../realtime/hub.ts'],
  ['server/features/polls.ts', '../jobs/push.ts'],
  ['server/features/polls.ts', '../app.ts'],
  ['server/features/polls.ts', 'fastify'],
  ['server/features/polls/index.ts', '../../http/errors.ts'],
  ['server/features/polls/index.ts', '../../realtime/hub.ts'],
  ['server/features/polls/index.ts', '../../config/index.ts'],
  ['server/features/polls/index.ts', '@parley/client'],
  ['server/core/context.ts', '../features/polls.ts'],
  ['server/core/context.ts', '../http/rest.ts'],
  ['server/core/context.ts', '../config/index.ts'],
  ['server/core/context.ts', '../../contract/index.ts'],
  ['server/db/polls.ts', '../features/polls.ts'],
  ['server/db/polls.ts', '../core/context.ts'],
  ['server/db/embedded/polls.ts', '../../core/context.ts'],
  ['examples/bot/polls.ts', '../../server/core/context.ts'],
  ['examples/bot/polls.ts', '@parley/contract'],
  ['test/polls.test.ts', '../server/app.ts'],
  ['test/support/polls.ts', '../../server/app.ts'],
] as const

const allowed = [
  ['contract/polls.ts', 'zod'],
  ['contract/polls.ts', './fields.ts'],
  ['client-sdk/polls.ts', '@parley/contract'],
  ['client-sdk/react/polls.ts', '../index.ts'],
  ['client-sdk/playground/polls.tsx', '@parley/client/react'],
  ['client-sdk/docs/polls.tsx', '../console/route.ts'],
  ['server/bin/parley.ts', '../commands/index.ts'],
  ['server/commands/start.ts', '../app.ts'],
  ['server/commands/start.ts', './open.ts'],
  ['server/app.ts', './http/rest.ts'],
  ['server/app.ts', '@parley/contract'],
  ['server/process/polls.ts', '../config/index.ts'],
  ['server/process/polls.ts', '../core/log.ts'],
  ['server/config/polls.ts', '../core/redis-url.ts'],
  ['server/config/polls.ts', '../db/schema-name.ts'],
  ['server/http/polls.ts', '../features/polls.ts'],
  ['server/http/polls.ts', '../core/jobs.ts'],
  ['server/http/openapi/polls.ts', '../../core/errors.ts'],
  ['server/realtime/polls.ts', '../core/context.ts'],
  ['server/jobs/polls.ts', '../db/client.ts'],
  ['server/features/polls.ts', '../core/context.ts'],
  ['server/features/polls/index.ts', '../../db/schema.ts'],
  ['server/core/context.ts', '../db/client.ts'],
  ['server/db/polls.ts', '@parley/contract'],
  ['server/db/embedded/polls.ts', '../client.ts'],
  ['examples/bot/polls.ts', '@parley/client/server'],
  ['examples/bot/polls.ts', 'node:fs/promises'],
  ['examples/bot/polls.ts', './bot.ts'],
  ['test/polls.test.ts', '@parley/server/app'],
  ['test/polls.test.ts', '@parley/contract'],
] as const

test('imports that point up or out of their workspace are refused, each by its own line', () => {
  write(imports(refused))
  const lines = refused.map(
    ([file], index) =>
      `${file}:${refused.slice(0, index + 1).filter(([other]) => other === file).length}`,
  )
  expect(findings('lint/style/noRestrictedImports')).toEqual(lines.sort())
})

test('imports that point down are allowed', () => {
  write(imports([...allowed, ['test/refused.ts', '../server/app.ts']]))
  expect(findings('lint/style/noRestrictedImports')).toEqual(['test/refused.ts:1'])
})

test('no layer imports the composition, the configuration or what runs the process', () => {
  const sources = (folder: string) =>
    readdirSync(join(root, 'server', folder)).filter((file) => file.endsWith('.ts'))
  const above = [
    ...sources('.'),
    ...['config', 'process'].flatMap((folder) =>
      sources(folder).map((file) => `${folder}/${file}`),
    ),
  ]
  expect(above).toEqual(
    expect.arrayContaining(['app.ts', 'config/index.ts', 'process/lifecycle.ts']),
  )
  const layers = ['http', 'realtime', 'jobs', 'features', 'core', 'db']
  const rules = layers.flatMap((layer) =>
    above.map((file) => [`server/${layer}/polls.ts`, `../${file}`] as const),
  )
  write(imports(rules))
  const lines = layers.flatMap((layer) =>
    above.map((_, index) => `server/${layer}/polls.ts:${index + 1}`),
  )
  expect(findings('lint/style/noRestrictedImports')).toEqual(lines.sort())
})

test('the contract imports only types from @trpc/server, and only in its router', () => {
  write({
    'contract/router.ts': [
      "import type { TRPCBuiltRouter } from '@trpc/server'\n",
      "import { initTRPC } from '@trpc/server'\n",
    ].join(''),
  })
  expect(findings('lint/style/noRestrictedImports')).toEqual(['contract/router.ts:2'])
})

test('files that import each other are refused', () => {
  write({
    'server/features/a.ts': "import './b.ts'\n",
    'server/features/b.ts': "import './a.ts'\n",
  })
  expect(findings('lint/suspicious/noImportCycles')).toEqual([
    'server/features/a.ts:1',
    'server/features/b.ts:1',
  ])
})

test('the lint check covers every workspace, and fails when it sees no files', () => {
  const files = ['contract', 'server', 'client-sdk', 'test'].map(
    (workspace) => `${workspace}/index.ts`,
  )
  expect(check('lint')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('No files were processed'),
  })
  write(Object.fromEntries(files.map((file) => [file, 'export const one = 1\n'])))
  expect(check('lint')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('Checked 4 files'),
  })
  write(Object.fromEntries(files.map((file) => [file, 'export const one: any = 1\n'])))
  const { status, stdout, stderr } = check('lint')
  expect(status).toBe(1)
  for (const file of files)
    expect(stdout + stderr).toContain(`${file}:1:19 lint/suspicious/noExplicitAny`)
})

test('the check for circles refuses one of types, and fails when it sees no files', () => {
  expect(check('cycles')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('No entry files were matched'),
  })
  write({
    'server/realtime/a.ts': "import type { B } from './b.ts'\nexport type A = B | 1\n",
    'server/realtime/b.ts': 'export type B = 2\n',
  })
  expect(check('cycles')).toMatchObject({ status: 0 })
  write({ 'server/realtime/b.ts': "import type { A } from './a.ts'\nexport type B = A[]\n" })
  expect(check('cycles')).toMatchObject({ status: 1 })
})

function imports(rules: readonly (readonly [string, string])[]) {
  const files: Record<string, string> = {}
  for (const [file, specifier] of rules) files[file] = `${files[file] ?? ''}import '${specifier}'\n`
  return files
}
