import { startBackend } from './backend.ts'

// The server must allow this address: WEBHOOK_ALLOW_HOSTS=localhost:8080 npm start
const { URL: url = 'http://localhost:5501', API_KEY: apiKey = '', CUSTOMER = 'ana' } = process.env
const here = { port: 8080, webhookUrl: 'http://localhost:8080/', inbox: '.data/inbox' }
try {
  if (!apiKey) throw new Error('API_KEY: expected the key of an app, such as the Demo API key')
  const { openOrder } = await startBackend({ url, apiKey, ...here })
  const { id } = await openOrder(7, CUSTOMER)
  console.log(`Opened channel ${id} for order 7. Answer it as ${CUSTOMER}, in the playground.`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
