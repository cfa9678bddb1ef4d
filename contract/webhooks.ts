import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'
import { EventPattern } from './webhook-events.ts'

const { most, rotationHours, failingDays, deliveriesKeptHours } = limits.webhooks
const id = field.webhookId()
const url = field.url().meta({
  description:
    'Where deliveries are sent: https, on the default port, at a public address. The operator ' +
    'can allow other hosts (WEBHOOK_ALLOW_HOSTS), and in development http is allowed.',
  examples: ['https://shop.example.com/parley'],
})
const events = z
  .array(EventPattern)
  .min(1)
  .max(50)
  .meta({ description: 'The events that it is sent.', examples: [['message.*']] })
const description = field
  .text({ max: limits.descriptionLength })
  .nullable()
  .meta({ description: 'What it is for; null if not given.', examples: ['Order mails'] })
const secret = z.string().meta({
  description: 'The key of its signatures. Shown only in this response.',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
})

/** An endpoint that is sent the events of an app. */
export const Webhook = z
  .object({
    id,
    url,
    events,
    description,
    enabled: z.boolean().meta({
      description:
        'Whether events are sent to it. While disabled it gets none; a replay sends those of ' +
        `${limits.eventsKeptHours} h.`,
      examples: [true],
    }),
    disabledReason: z
      .enum(['failing', 'gone'])
      .meta({
        id: 'WebhookDisabledReason',
        description: 'Why the server disabled a webhook.',
        examples: ['gone'],
      })
      .nullable()
      .meta({
        description:
          `Why the server disabled it: nothing succeeded for ${failingDays} days (\`failing\`), ` +
          'or it answered 410 (`gone`). Null if it did not.',
        examples: [null],
      }),
    failingSince: field
      .timestamp()
      .nullable()
      .meta({
        description: 'Since when deliveries have failed; null if the last one succeeded.',
        examples: [null],
      }),
    createdAt: field.time('When it was created.'),
  })
  .meta({ id: 'Webhook', description: 'An endpoint that is sent the events of an app.' })
export type Webhook = z.infer<typeof Webhook>

const WithSecret = z.object({ ...Webhook.shape, secret }).meta({
  id: 'WebhookWithSecret',
  description: 'A webhook, with the secret that its signatures are made with.',
})

/** An event on its way to a webhook. */
export const WebhookDelivery = z
  .object({
    id: field.deliveryId(),
    headerId: z.string().meta({
      description: 'The `webhook-id` header that the receiver gets, the same in each attempt.',
      examples: [`msg_${field.examples.webhookId}_4711_1767225600000`],
    }),
    eventType: z
      .string()
      .meta({ description: 'The type of the event.', examples: ['message.new'] }),
    channelId: field
      .channelId()
      .nullable()
      .meta({ description: 'The channel of the event; null: it is of a user, or a test.' }),
    messageId: field.messageId().nullable().meta({
      description: 'The message of the event, while the event is kept; null: it is of none.',
    }),
    status: z.enum(['pending', 'retrying', 'delivered', 'failed']).meta({
      description:
        '`pending`: those after it in its channel wait for it. `retrying`: it failed several ' +
        'times, is tried again later, and holds nothing up. `failed`: it was given up.',
      examples: ['delivered'],
    }),
    attempts: z.int().meta({ description: 'How often it was sent.', examples: [1] }),
    responseStatus: z
      .int()
      .nullable()
      .meta({ description: 'The status of the last answer; null: none came.', examples: [200] }),
    error: z
      .string()
      .nullable()
      .meta({ description: 'Why the last attempt failed; null if it did not.', examples: [null] }),
    nextAttemptAt: field
      .timestamp()
      .nullable()
      .meta({ description: 'When it is sent, at the earliest; null: no more.', examples: [null] }),
    waitsForEarlier: z.boolean().meta({
      description: 'Whether one before it in its channel must be sent first, or given up.',
      examples: [false],
    }),
    createdAt: field.time('When the delivery was made, soon after its event.'),
  })
  .meta({ id: 'WebhookDelivery', description: 'An event on its way to a webhook.' })
export type WebhookDelivery = z.infer<typeof WebhookDelivery>

const Ref = z.object({ webhookId: id })
const changes = { url, events, description }

/** Webhooks of an app, for its backend. */
export const webhooks = {
  create: operation({
    method: 'POST',
    path: '/webhooks',
    auth: 'key',
    status: 201,
    summary: 'Create a webhook',
    description:
      'From now on, the durable events of the app that match are sent to the URL, signed by the ' +
      `Standard Webhooks convention. An app has at most ${most}. Unknown names are an error.`,
    input: z.strictObject({ ...changes, description: description.optional() }),
    output: WithSecret,
  }),
  list: operation({
    method: 'GET',
    path: '/webhooks',
    auth: 'key',
    summary: 'List webhooks',
    description: 'Lists all webhooks of the app, without their secrets.',
    input: z.object({}),
    output: z.object({ webhooks: z.array(Webhook).meta({ description: 'Oldest first.' }) }),
  }),
  update: operation({
    method: 'PATCH',
    path: '/webhooks/{webhookId}',
    auth: 'key',
    summary: 'Change a webhook',
    description:
      'Changes the fields that are given; unknown names are an error. `enabled: true` also ' +
      'enables a webhook that the server has disabled; what happened meanwhile is sent by a ' +
      'replay.',
    input: Ref.extend({
      url: url.optional(),
      events: events.optional(),
      description: description.optional(),
      enabled: Webhook.shape.enabled.optional(),
    }).strict(),
    output: Webhook,
    idempotent: true,
  }),
  delete: operation({
    method: 'DELETE',
    path: '/webhooks/{webhookId}',
    auth: 'key',
    summary: 'Delete a webhook',
    description: 'Deletes the webhook, and cancels its deliveries that have not succeeded yet.',
    input: Ref,
    output: field.Success,
  }),
  rotate: operation({
    method: 'POST',
    path: '/webhooks/{webhookId}/rotate',
    auth: 'key',
    summary: 'Replace the secret',
    description:
      `Makes a new secret. For ${rotationHours} hours the previous one signs too, so that ` +
      'receivers with either secret accept deliveries.',
    input: Ref,
    output: WithSecret,
  }),
  test: operation({
    method: 'POST',
    path: '/webhooks/{webhookId}/test',
    auth: 'key',
    summary: 'Test a webhook',
    description: 'Sends it an event `webhook.test`. The list of its deliveries shows the outcome.',
    input: Ref,
    output: WebhookDelivery,
  }),
  deliveries: operation({
    method: 'GET',
    path: '/webhooks/{webhookId}/deliveries',
    auth: 'key',
    summary: 'List deliveries',
    description: `Lists its deliveries, past and pending. Kept for ${deliveriesKeptHours} hours.`,
    input: Ref.extend({
      limit: field.pageSize(limits.page.deliveries),
      cursor: field.cursor(),
    }),
    output: z.object({
      deliveries: z.array(WebhookDelivery).meta({ description: 'Newest first.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  retry: operation({
    method: 'POST',
    path: '/webhooks/{webhookId}/deliveries/{deliveryId}/retry',
    auth: 'key',
    summary: 'Send a delivery again',
    description:
      'Sends it again now, whatever its status, with all its attempts. Its event is kept for ' +
      `${limits.eventsKeptHours} hours.`,
    input: Ref.extend({ deliveryId: field.deliveryId() }),
    output: WebhookDelivery,
    idempotent: true,
  }),
  replay: operation({
    method: 'POST',
    path: '/webhooks/{webhookId}/replay',
    auth: 'key',
    summary: 'Send past events again',
    description:
      'Sends all events that match and happened since a time, those already delivered and those ' +
      `from before the webhook included. Events are kept for ${limits.eventsKeptHours} hours. ` +
      'While one runs, another that starts further back is refused with CONFLICT, and one that ' +
      'starts later runs after it. Repeat a call that got no answer with the same `since`.',
    input: Ref.extend({
      since: field
        .timestamp()
        .meta({ description: 'Events since then are sent.', examples: [field.examples.time] }),
    }),
    output: field.Success,
    errors: ['NOT_FOUND', 'CONFLICT'],
    idempotent: true,
  }),
}
