import { fileURLToPath } from 'node:url'
import { startBot } from './bot.ts'

const { URL: url = 'http://localhost:5501', API_KEY: apiKey = '', FILE } = process.env
const file = FILE ?? fileURLToPath(new URL('text.txt', import.meta.url))
await startBot({ url, apiKey, userId: 'reader', file })
console.log(
  'The bot "reader" answers direct messages of its app: the playground shows the demo app.',
)
