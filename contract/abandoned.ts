import { z } from 'zod'
import { ChannelType } from './channels.ts'
import * as field from './fields.ts'
import { grouped, limits } from './limits.ts'
import { operation } from './operation.ts'

const name = z.string().meta({ description: 'Its name.', examples: ['Kitchen talk'] })

/** A channel that all members have left. */
export const AbandonedChannel = z
  .object({
    id: field.channelId(),
    type: ChannelType,
    name: name.nullable().meta({ description: 'Its name; null for a direct message.' }),
    workspaceId: field.workspaceId().nullable().meta({
      description: 'The workspace it belongs to.',
    }),
    createdAt: field.time('When it was created.'),
    lastActivityAt: field.time('When the last message was sent, or the last member left.'),
  })
  .meta({ id: 'AbandonedChannel', description: 'A channel that all members have left.' })

/** A workspace that all members have left. */
export const AbandonedWorkspace = z
  .object({
    id: field.workspaceId(),
    name,
    createdAt: field.time('When it was created.'),
    updatedAt: field.time('When it last changed, or the last member left.'),
  })
  .meta({ id: 'AbandonedWorkspace', description: 'A workspace that all members have left.' })

const { slice } = limits.abandoned
const page = {
  limit: field.pageSize(limits.page.abandoned),
  cursor: field.cursor().meta({
    description:
      `\`nextCursor\` of an earlier page. One call looks at ${grouped(slice)} at most, with ` +
      'and without members: a page may be short, or empty, and not be the last.',
    examples: ['WyIwMTljOWIxZSIsIiJd'],
  }),
}

/** Channels and workspaces that all members have left, for the app's backend. */
export const abandoned = {
  channels: operation({
    method: 'GET',
    path: '/api/abandoned/channels',
    auth: 'key',
    summary: 'List abandoned channels',
    description: 'Lists the channels of the app without members.',
    input: z.object(page),
    output: z.object({
      channels: z.array(AbandonedChannel).meta({ description: 'In no particular order.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  deleteChannel: operation({
    method: 'DELETE',
    path: '/api/abandoned/channels/{channelId}',
    auth: 'key',
    summary: 'Delete an abandoned channel',
    description:
      'Deletes a channel without members, and everything in it. One that has members is FORBIDDEN.',
    input: z.object({ channelId: field.channelId() }),
    output: field.Success,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
  workspaces: operation({
    method: 'GET',
    path: '/api/abandoned/workspaces',
    auth: 'key',
    summary: 'List abandoned workspaces',
    description:
      'Lists the workspaces of the app without members. Their channels may still have members.',
    input: z.object(page),
    output: z.object({
      workspaces: z.array(AbandonedWorkspace).meta({ description: 'In no particular order.' }),
      nextCursor: field.nextCursor(),
    }),
  }),
  deleteWorkspace: operation({
    method: 'DELETE',
    path: '/api/abandoned/workspaces/{workspaceId}',
    auth: 'key',
    summary: 'Delete an abandoned workspace',
    description:
      'Deletes a workspace without members and its invites. One that has members or channels is ' +
      'FORBIDDEN.',
    input: z.object({ workspaceId: field.workspaceId() }),
    output: field.Success,
    errors: ['NOT_FOUND', 'FORBIDDEN'],
  }),
}
