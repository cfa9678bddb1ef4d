import { join } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { createVitest } from 'vitest/node'
import type { SuiteRequest, Verdict } from './suite.ts'

/**
 * A process that runs test files of its copy of the project whenever it is asked to. It is started
 * once for many defects: between two of them it only reads the changed files again.
 */
process.execArgv.length = 0 // the workers need no loader
const failures: Verdict[] = []
let ended = 0
let cancelled: Promise<void> | undefined
const reporter: Reporter = {
  onTestCaseResult: (testCase) => {
    if (testCase.result().state !== 'failed') return
    failures.push({ outcome: isTimeout(testCase) ? 'timeout' : 'red', by: testCase.name })
    cancelled ??= vitest.cancelCurrentRun('test-failure')
  },
  onTestModuleEnd: (module) => {
    ended += 1
    if (!module.ok()) failures.push({ outcome: 'red', by: reasonOf(module) })
  },
  onTestRunEnd: (_, errors) => {
    for (const { message } of errors) failures.push({ outcome: 'red', by: message })
  },
}
const timeout = Number(process.argv[2])
const vitest = await createVitest('test', {
  config: 'test/mutations/vitest.config.ts',
  watch: false,
  testTimeout: timeout,
  hookTimeout: timeout,
  reporters: [reporter],
})

process.on('message', (request: SuiteRequest) => {
  run(request).then(
    (verdict) => process.send?.(verdict),
    (error) => process.send?.({ outcome: 'error', by: String(error) } satisfies Verdict),
  )
})

/** The files that the previous run changed. They are restored, so they are read again. */
let latest: string[] = []
async function run({ tests, changed }: SuiteRequest): Promise<Verdict> {
  for (const file of [...latest, ...changed]) vitest.invalidateFile(join(process.cwd(), file))
  latest = changed
  const specifications = await vitest.globTestSpecifications(tests)
  failures.length = 0
  ended = 0
  cancelled = undefined
  await vitest.runTestSpecifications(specifications)
  await cancelled // or it would reach the next run
  if (ended === 0) return { outcome: 'error', by: 'no test ran' }
  return failures[0] ?? { outcome: 'green', by: '' }
}

const isTimeout = (failed: TestCase) =>
  failed.result().errors?.some(({ message }) => /^(Test|Hook) timed out in/.test(message)) ?? false

/** Why a file failed that has no failed test: its modules or its hooks. */
function reasonOf(module: TestModule) {
  const suites = [...module.children.allSuites()].flatMap((suite) => suite.errors())
  const [error] = [...module.errors(), ...suites]
  return error?.message.split('\n')[0] ?? 'the file failed'
}
