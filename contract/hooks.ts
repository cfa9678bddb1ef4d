import { z } from 'zod'
import * as field from './fields.ts'
import { grouped, limits } from './limits.ts'
import { messages } from './messages.ts'
import { operation } from './operation.ts'

const { timeoutMs } = limits.beforeSend
const { rotationHours } = limits.webhooks
const url = field.url().meta({
  description:
    'Where messages are screened: https, on the default port, at a public address. The ' +
    'operator can allow other hosts (WEBHOOK_ALLOW_HOSTS), and in development http is allowed.',
  examples: ['https://shop.example.com/before-send'],
})
export type OnHookError = z.infer<typeof onError>
const onError = z.enum(['allow', 'deny']).meta({
  id: 'OnHookError',
  description:
    'What becomes of a message if no usable answer comes in time: it is stored as it is ' +
    '(`allow`), or refused with FORBIDDEN (`deny`).',
  examples: ['allow'],
})

/** An endpoint that screens the messages of an app before they are stored. */
const BeforeSendHook = z
  .object({
    url,
    onError,
    timeoutMs: z.int().meta({
      description: 'How long an answer may take, in milliseconds.',
      examples: [timeoutMs.default],
    }),
    createdAt: field.time('When it was set first.'),
  })
  .meta({
    id: 'BeforeSendHook',
    description: 'An endpoint that screens the messages of an app before they are stored.',
  })

const WithSecret = BeforeSendHook.extend({
  secret: z.string().meta({
    description: 'The key of its signatures.',
    examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  }),
}).meta({
  id: 'BeforeSendHookWithSecret',
  description: 'The before-send hook, with the secret that its signatures are made with.',
})

const { channelId, text, attachments, parentId, quotedMessageId, custom, silent, clientId } =
  messages.send.input.shape
/** The question to the endpoint: the body of its requests. */
export const BeforeSendQuestion = z
  .object({
    type: z.literal('message.before_send').meta({ description: 'What is asked.' }),
    timestamp: field.time('When it is asked.'),
    appId: field.appId(),
    data: z
      .object({
        channelId,
        messageId: field
          .messageId()
          .optional()
          .meta({ description: 'Of an edit: the message that its author changes.' }),
        userId: field.userId().meta({ description: 'The author.' }),
        text,
        attachments: messages.send.output.shape.attachments,
        parentId,
        quotedMessageId,
        custom,
        silent,
        clientId,
      })
      .meta({ description: 'The message as its author sent it, or as it would be after an edit.' }),
  })
  .meta({
    id: 'BeforeSendQuestion',
    description: 'A message that is about to be stored, new or edited.',
  })
export type BeforeSendQuestion = z.infer<typeof BeforeSendQuestion>

/** The answer of the endpoint. */
export const BeforeSendAnswer = z
  .discriminatedUnion('action', [
    z.object({ action: z.literal('allow') }).meta({ description: 'It is stored as it is.' }),
    z
      .object({
        action: z.literal('change'),
        text: text.optional(),
        attachments: attachments.unwrap().optional(),
        custom,
      })
      .meta({
        description:
          'It is stored with these fields in place of its own. An edit leaves the attachments ' +
          'as they are.',
      }),
    z
      .object({
        action: z.literal('refuse'),
        reason: field.text({ min: 1, max: limits.descriptionLength }).meta({
          description: 'The reason that its author gets.',
          examples: ['No links, please'],
        }),
      })
      .meta({ description: 'It is not stored; its author gets FORBIDDEN.' }),
  ])
  .meta({ id: 'BeforeSendAnswer', description: 'What becomes of a message.' })
export type BeforeSendAnswer = z.infer<typeof BeforeSendAnswer>

/** Endpoints of an app's backend that decide what happens. */
export const hooks = {
  setBeforeSend: operation({
    method: 'PUT',
    path: '/hooks/before-send',
    auth: 'key',
    summary: 'Set the before-send hook',
    description:
      `Within ${limits.revocationSeconds} seconds, each message that a user of the app sends or ` +
      'edits with a token goes to the URL first, signed by the Standard Webhooks convention. It ' +
      'is stored, changed or refused as the endpoint answers. A hook that is set again keeps its ' +
      'secret. Unknown names are an error.',
    input: z.strictObject({
      url,
      onError,
      timeoutMs: z
        .int()
        .min(timeoutMs.min)
        .max(timeoutMs.max)
        .default(timeoutMs.default)
        .meta({
          description: `Time for an answer: ${timeoutMs.min} to ${grouped(timeoutMs.max)} ms.`,
          examples: [timeoutMs.default],
        }),
    }),
    output: WithSecret,
    idempotent: true,
  }),
  getBeforeSend: operation({
    method: 'GET',
    path: '/hooks/before-send',
    auth: 'key',
    summary: 'Get the before-send hook',
    description: 'Returns the hook, without its secret.',
    input: z.object({}),
    output: BeforeSendHook,
    errors: ['NOT_FOUND'],
  }),
  deleteBeforeSend: operation({
    method: 'DELETE',
    path: '/hooks/before-send',
    auth: 'key',
    summary: 'Delete the before-send hook',
    description: `Within ${limits.revocationSeconds} seconds no message is sent to it any more.`,
    input: z.object({}),
    output: field.Success,
    errors: ['NOT_FOUND'],
  }),
  rotateBeforeSend: operation({
    method: 'POST',
    path: '/hooks/before-send/rotate',
    auth: 'key',
    summary: "Replace the before-send hook's secret",
    description:
      `Makes a new secret. For ${rotationHours} hours the previous one signs too, so that ` +
      'endpoints with either secret accept the requests.',
    input: z.object({}),
    output: WithSecret,
    errors: ['NOT_FOUND'],
  }),
}
