import { mergeConfig } from 'vitest/config'
import { heavy } from '../heavy.ts'
import suite, { everywhere, tests } from '../vitest.config.ts'

/** The suite, and the heavy tests: they catch defects, too. */
export default mergeConfig(suite, {
  test: {
    projects: [
      {
        ...everywhere,
        test: { ...tests, name: 'long', include: ['long/**/*.long.ts', ...heavy] },
      },
    ],
  },
})
