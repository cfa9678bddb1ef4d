import { z } from 'zod'
import * as field from './fields.ts'
import { limits } from './limits.ts'
import { operation } from './operation.ts'

/** The platform of a device. */
export const DevicePlatform = z
  .enum(['ios', 'android', 'relay'])
  .meta({ id: 'DevicePlatform', description: 'What runs the app.', examples: ['android'] })

/** Which service delivers pushes to a device. */
export const DeviceProvider = z.enum(['fcm', 'apns', 'relay']).meta({
  id: 'DeviceProvider',
  description:
    'Which service delivers the push: `fcm` (Android), `apns` (iOS), `relay` (cross-platform ' +
    'mobile).',
  examples: ['fcm'],
})

/** A registered device, without its push token. */
export const Device = z.object({
  id: field.uuid().meta({
    description: 'Id of the device.',
    examples: ['019c9b20-11f2-7b3c-8a4d-5e6f70819203'],
  }),
  platform: DevicePlatform,
  provider: DeviceProvider,
  createdAt: field.time('When it was first registered.'),
})

/** Devices that receive push notifications. */
export const devices = {
  create: operation({
    method: 'POST',
    path: '/api/devices',
    auth: 'user',
    status: 201,
    summary: 'Register a device',
    description:
      'Registers a device for push notifications. Registering the same token, or the same ' +
      '`deviceId`, again updates the device. A token that belonged to another user becomes ' +
      `yours. A user has at most ${limits.devices} devices.`,
    input: z.object({
      platform: DevicePlatform,
      token: field
        .text({ min: 1, max: limits.deviceTokenBytes })
        .refine(...field.atMostBytes(limits.deviceTokenBytes))
        .meta({
          description: 'Push token from the device.',
          examples: ['fcm-token-of-the-device'],
        }),
      provider: DeviceProvider,
      deviceId: field
        .text({ min: 1, max: limits.deviceIdLength })
        .optional()
        .meta({ description: 'Your own unique id of the device.', examples: ['pixel-9'] }),
      appVersion: field
        .text({ min: 1, max: limits.nameLength })
        .optional()
        .meta({ description: 'App version, for targeting.', examples: ['2.4.0'] }),
    }),
    output: Device,
  }),
  delete: operation({
    method: 'DELETE',
    path: '/api/devices/{deviceId}',
    auth: 'user',
    summary: 'Remove a device',
    description: 'Removes one of your devices, by its `id` or by its `deviceId`.',
    input: z.object({
      deviceId: field
        .text({ min: 1, max: limits.deviceIdLength })
        .meta({ description: 'The `id` or the `deviceId`.', examples: ['pixel-9'] }),
    }),
    output: field.Success,
    errors: ['NOT_FOUND'],
  }),
}
