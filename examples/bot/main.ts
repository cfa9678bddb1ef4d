import { fileURLToPath } from 'node:url'
import { startBot } from './bot.ts'

const { URL: url = 'http://localhost:5501', API_KEY: apiKey = '', FILE } = process.env
const file = FILE ?? fileURLToPath(new URL('text.txt', import.meta.url))
try {
  if (!apiKey) throw new Error('API_KEY: expected the key of an app, such as the Demo API key')
  await startBot({ url, apiKey, userId: 'reader', file })
  console.log(
    'The bot "reader" answers direct messages of its app: the playground shows the demo app.',
  )
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
