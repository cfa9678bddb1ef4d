import { startBackend } from './backend.ts'

// The server is to allow this address: WEBHOOK_ALLOW_HOSTS=localhost:8080
const { URL: url = 'http://localhost:3000', API_KEY: apiKey = '', CUSTOMER = 'ana' } = process.env
const publicUrl = (port: number) => `http://localhost:${port}`
const inbox = '.data/inbox'
const { openOrder } = await startBackend({ url, apiKey, port: 8080, publicUrl, inbox })
const { id } = await openOrder(7, CUSTOMER)
console.log(`Opened channel ${id} for order 7. Answer it as ${CUSTOMER}, in the playground.`)
