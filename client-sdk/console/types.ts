import type { api } from './server.ts'

/** The answers of the operator's operations. */
type Api = typeof api
type Answer<Call extends (...given: never[]) => Promise<unknown>> = Awaited<ReturnType<Call>>

export type AppRecord = Answer<Api['apps']['get']>
export type ApiKey = AppRecord['keys'][number]
export type Usage = Answer<Api['apps']['usage']>
export type User = Answer<Api['inspect']['users']>['users'][number]
export type Channel = Answer<Api['inspect']['channels']>['channels'][number]
export type NotificationSettings = Answer<Api['inspect']['notifications']>
export type Message = Answer<Api['inspect']['messages']>['messages'][number]
export type Webhook = Answer<Api['inspect']['webhooks']>['webhooks'][number]
export type Delivery = Answer<Api['inspect']['deliveries']>['deliveries'][number]
export type FailedJob = Answer<Api['jobs']['list']>['jobs'][number]
export type AuditEntry = Answer<Api['audit']['list']>['entries'][number]
