import { underTest } from '../support/realtime.ts'

underTest.transports = ['sse']
await import('./realtime-suite.ts')
