import { expect, test } from 'vitest'
import {
  bundlerStyle,
  clientPackages,
  contractPackages,
  createConsumer,
  installPacked,
  nodeStyle,
} from '../support/consumer.ts'

test.each([
  ['contract', 'trpc.ts', contractPackages],
  ['client-sdk', 'client.ts', clientPackages],
] as const)(
  'the declarations of the packed %s are valid for both compilers, however they are found',
  async (workspace, program, packages) => {
    const consumer = createConsumer(program, packages)
    await installPacked(workspace, consumer.folder)
    for (const style of [nodeStyle, bundlerStyle]) {
      for (const version of [5, 7] as const)
        await expect(consumer.compile(version, style)).resolves.toBeUndefined()
    }
  },
  // Four runs of a compiler, after everything was built.
  600_000,
)
