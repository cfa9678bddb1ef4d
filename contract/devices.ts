import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

const platform = z
  .enum(['ios', 'android', 'relay'])
  .meta({ description: 'What runs the app.', examples: ['android'] })
const provider = z.enum(['fcm', 'apns', 'relay']).meta({
  description: 'Who delivers the push: fcm (Android), apns (iOS), relay (cross-platform mobile).',
  examples: ['fcm'],
})

/** Devices that get push notifications (SPEC "Device", DESIGN §4 devices). */
export const devices = {
  /** Registers a device. The same token, or the same device of the same user, is updated; a token moves to its new user. */
  create: operation({
    method: 'POST',
    path: '/api/devices',
    auth: 'user',
    status: 201,
    summary: 'Register a device',
    description:
      'Registers a device for push notifications. The same token, or the same `deviceId` of yours, is updated; a token that was somebody else’s becomes yours. At most 25 devices a user.',
    input: z.object({
      platform,
      token: field.text({ min: 1, max: limits.deviceTokenLength }).meta({
        description: 'Push token from the device.',
        examples: ['fcm-token-of-the-device'],
      }),
      provider,
      deviceId: field
        .text({ min: 1, max: limits.deviceIdLength })
        .optional()
        .meta({ description: 'Unique device identifier.', examples: ['pixel-9'] }),
      appVersion: field
        .text({ min: 1, max: limits.nameLength })
        .optional()
        .meta({ description: 'App version, for targeting.', examples: ['2.4.0'] }),
    }),
    output: z.object({
      id: field.uuid().meta({
        description: 'Id of the device.',
        examples: ['019c9b20-11f2-7b3c-8a4d-5e6f70819203'],
      }),
      platform,
      provider,
      createdAt: field.timestamp().meta({
        description: 'When it was first registered.',
        examples: ['2026-11-21T09:30:00.000Z'],
      }),
    }),
  }),
  /** Forgets a device of the caller, by its id or by its `deviceId`. */
  delete: operation({
    method: 'DELETE',
    path: '/api/devices/{deviceId}',
    auth: 'user',
    summary: 'Remove a device',
    description:
      'Forgets one of your devices, by the `id` of its registration or by its `deviceId`.',
    input: z.object({
      deviceId: field
        .text({ min: 1, max: limits.deviceIdLength })
        .meta({ description: 'The `id` or the `deviceId`.', examples: ['pixel-9'] }),
    }),
    output: field.Success,
    errors: ['NOT_FOUND'],
  }),
}
