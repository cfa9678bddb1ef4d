import type { OnHookError, Webhook, WebhookDelivery } from '@parley/contract'
import { sql } from 'drizzle-orm'
import {
  bigserial,
  boolean,
  index,
  integer,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { appId } from './apps.ts'
import { createdAt, instant } from './columns.ts'

/** Endpoints that are sent the events of an app. */
export const webhooks = pgTable(
  'webhooks',
  {
    id: uuid().primaryKey(),
    appId: appId(),
    url: text().notNull(),
    events: text().array().notNull(),
    description: text(),
    enabled: boolean().notNull().default(true),
    /** Events from then on are delivered: since it was created, or enabled again. */
    activeSince: createdAt(),
    disabledReason: text().$type<NonNullable<Webhook['disabledReason']>>(),
    /** When the first delivery failed since one succeeded. */
    failingSince: instant(),
    secret: text().notNull(),
    /** Signs too, until it expires. */
    previousSecret: text(),
    previousSecretExpiresAt: instant(),
    /** Events since then are to be delivered again. */
    replaySince: instant(),
    /** The worker that sends its deliveries, and until when; without one, the end of its rest. */
    leasedBy: uuid(),
    leasedUntil: instant(),
    createdAt: createdAt(),
  },
  (t) => [index().on(t.appId)],
)

/** The endpoint that screens an app's messages before they are stored. */
export const beforeSendHooks = pgTable('before_send_hooks', {
  appId: appId().primaryKey(),
  url: text().notNull(),
  onError: text().$type<OnHookError>().notNull(),
  timeoutMs: integer().notNull(),
  secret: text().notNull(),
  /** Signs too, until it expires. */
  previousSecret: text(),
  previousSecretExpiresAt: instant(),
  createdAt: createdAt(),
})

/**
 * An event that a webhook is sent. The payload stays in `events`, so that it goes when the event or
 * its message does. Rows of deleted webhooks are left to the cleanup.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: bigserial({ mode: 'number' }).primaryKey(),
    appId: appId(),
    webhookId: uuid().notNull(),
    /** Null for a test. */
    topic: text(),
    offset: integer(),
    eventType: text().notNull(),
    status: text().$type<WebhookDelivery['status']>().notNull().default('pending'),
    attempts: integer().notNull().default(0),
    responseStatus: integer(),
    error: text(),
    nextAttemptAt: instant().defaultNow(),
    createdAt: createdAt(),
  },
  (t) => [
    uniqueIndex('webhook_deliveries_event').on(t.webhookId, t.topic, t.offset),
    index('webhook_deliveries_list').on(t.webhookId, t.id),
    index('webhook_deliveries_line').on(t.webhookId, t.id).where(sql`status = 'pending'`),
    index('webhook_deliveries_due')
      .on(t.webhookId, t.status, t.nextAttemptAt)
      .where(sql`status in ('pending', 'retrying')`)
      .concurrently(),
    index().on(t.createdAt),
    index('webhook_deliveries_of_app').on(t.appId).concurrently(),
  ],
)
