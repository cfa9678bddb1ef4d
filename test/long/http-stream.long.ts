import { underTest } from '../support/realtime.ts'

underTest.transports = ['http_stream']
await import('./realtime-suite.ts')
