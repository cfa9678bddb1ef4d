import { ApiError } from './errors.ts'

/* Refusals that several operations answer with, in the same words. */

export const tokenRevoked = () => new ApiError('INVALID_TOKEN', 'The token has been revoked')

export const channelNotFound = () => new ApiError('NOT_FOUND', 'Channel not found')
export const messageNotFound = () => new ApiError('NOT_FOUND', 'Message not found')
export const memberNotFound = () => new ApiError('NOT_FOUND', 'Member not found')
export const userNotFound = () => new ApiError('NOT_FOUND', 'User not found')
export const workspaceNotFound = () => new ApiError('NOT_FOUND', 'Workspace not found')

export const notMember = () => new ApiError('FORBIDDEN', 'You are not a member of this channel')
export const notAuthor = () => new ApiError('FORBIDDEN', 'You are not the author of this message')
export const channelFrozen = () => new ApiError('FORBIDDEN', 'The channel is frozen')
export const notStreaming = () =>
  new ApiError('FORBIDDEN', 'The message was not sent with streaming: true')
/** The hook could only screen the beginning of a growing text. */
export const streamIsScreened = () =>
  new ApiError('FORBIDDEN', 'Only the backend may stream messages while a before-send hook is set')
