import type { User, World } from './world.ts'

/**
 * Plain REST as one user, for what the typed client cannot express, such as a status:
 * `(await rest(world(), ana)('GET', '/api/channels')).status`.
 */
export const rest =
  ({ url }: World, { token }: User) =>
  async (method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    // biome-ignore lint/suspicious/noExplicitAny: tests of any operation look into it
    return { status: response.status, body: (await response.json()) as any }
  }
