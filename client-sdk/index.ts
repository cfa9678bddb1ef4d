export { type Api, type ApiOptions, type Credentials, createApi } from './api.ts'
export { ChatError, isChatError } from './error.ts'
