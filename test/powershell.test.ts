import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './support/consumer.ts'

const blocksOf = (file: string, language: string) => {
  const text = readFileSync(join(root, file), 'utf8')
  const blocks = text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))
  return [...blocks].map(([, block = '']) => block).join('\n')
}

/** The routes that are called, in order, whatever a shell calls its variables. */
const callsIn = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, verb = '', route = '']) => [
    verb.toLowerCase(),
    route.replace(/["{}]/g, '').toLowerCase(),
  ])

test('the tour in PowerShell makes the same calls as the tour for other shells', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const shell = blocksOf('README.md', 'sh')
    .replaceAll('/api/channels/$CHANNEL/messages\n', '\n')
    .replaceAll('$MESSAGES', '$messages')
  const powershell = blocksOf('docs/install.md', 'powershell')
  const calls = callsIn(shell, /(?:^|\(|\n)(post|get) ("?[/$][^\s)]*)/g)
  expect(calls).toHaveLength(12)
  expect(callsIn(powershell, /(?:^|\(|\n|= )(?:Send-|Get-)(Post|Route) ("?[/$][^\s)]*)/g)).toEqual(
    calls.map(([verb, route]) => [verb === 'get' ? 'route' : verb, route]),
  )
  for (const content of [
    'Tour',
    'Kitchen talk',
    'Hello @ben, soup or salad?',
    'Soup, please',
    '🍲',
  ]) {
    expect(readme).toContain(content)
    expect(powershell).toContain(`'${content}'`)
  }
})
