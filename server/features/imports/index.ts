import { contract } from '@parley/contract'
import { type Implements, implementStream } from '../../core/operation.ts'
import { runImport } from './run.ts'

const run = implementStream(contract.imports.run, ({ caller, body, inTransaction }) =>
  runImport({ appId: caller.appId, body, inTransaction }),
)

export const imports = { run } satisfies Implements<'imports'>
