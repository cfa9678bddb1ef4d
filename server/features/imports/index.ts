import { contract } from '@parley/contract'
import { noteActOf } from '../../core/audit.ts'
import { type Implements, implementStreamedBody } from '../../core/operation.ts'
import { runImport } from './run.ts'

const run = implementStreamedBody(
  contract.imports.run,
  ({ caller, services, body, inTransaction }) =>
    runImport({
      appId: caller.appId,
      body,
      inTransaction,
      metrics: services.importMetrics,
      note: (db, act) => noteActOf(db, caller, act),
    }),
)

export const imports = { run } satisfies Implements<'imports'>
