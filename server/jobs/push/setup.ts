import { createProvider } from './provider.ts'
import type { PushKind, PushPayloads, PushSettings } from './settings.ts'

type Template<K extends PushKind> = {
  name: string
  subject: string
  body: string
  fields: (keyof PushPayloads[K])[]
}

/**
 * The texts of each kind, in which the provider fills in the payload. Operators may change them
 * there.
 */
const templates: { [K in PushKind]: Template<K> } = {
  'new-message': {
    name: 'New message',
    subject: '{{payload.senderName}} · {{payload.channelName}}',
    body: '{{payload.messagePreview}}',
    fields: [
      'senderId',
      'senderName',
      'senderAvatar',
      'channelId',
      'channelName',
      'messagePreview',
      'messageId',
    ],
  },
  mention: {
    name: 'Mention',
    subject: '{{payload.mentionedByName}} mentioned you · {{payload.channelName}}',
    body: '{{payload.messagePreview}}',
    fields: [
      'mentionedBy',
      'mentionedByName',
      'channelId',
      'channelName',
      'messagePreview',
      'messageId',
    ],
  },
  'channel-invite': {
    name: 'Channel invitation',
    subject: '{{payload.invitedByName}} added you to {{payload.channelName}}',
    body: '{{payload.channelDescription}}',
    fields: ['invitedBy', 'invitedByName', 'channelId', 'channelName', 'channelDescription'],
  },
  reaction: {
    name: 'Reaction',
    subject: '{{payload.reactorName}} reacted with {{payload.emoji}}',
    body: '{{payload.messagePreview}}',
    fields: ['reactorId', 'reactorName', 'emoji', 'channelId', 'messagePreview', 'messageId'],
  },
  'thread-reply': {
    name: 'Thread reply',
    subject: '{{payload.replierName}} replied · {{payload.channelName}}',
    body: '{{payload.replyPreview}}',
    fields: ['replierId', 'replierName', 'channelId', 'channelName', 'threadId', 'replyPreview'],
  },
}

/** Creates the workflow of each kind at the provider. Existing ones stay as they are. */
export async function setUpPush(push: PushSettings, print: (line: string) => void) {
  const provider = createProvider(push)
  for (const [kind, template] of Object.entries(templates)) {
    const workflowId = push.workflows[kind as PushKind] // entries are typed string
    if (await provider.hasWorkflow(workflowId)) {
      print(`${workflowId}: exists`)
      continue
    }
    await provider.createWorkflow(workflow(workflowId, template))
    print(`${workflowId}: created`)
  }
}

const workflow = (
  workflowId: string,
  {
    name,
    subject,
    body,
    fields,
  }: { name: string; subject: string; body: string; fields: string[] },
) => ({
  workflowId,
  name,
  active: true,
  payloadSchema: {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field, { type: 'string' }])),
  },
  steps: [{ name: 'Push', type: 'push', controlValues: { subject, body } }],
})
