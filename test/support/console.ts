import { createApi } from '@parley/client/api'
import { connectOnce } from '@parley/server/db/client'
import type { Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { expectHidden } from './browser.ts'
import { usePlayground } from './playground.ts'
import { ADMIN_KEY } from './secrets.ts'

/** A server, and a browser that shows its console. */
export function useConsole() {
  const playground = usePlayground()
  const serverUrl = () => new URL('..', `${playground.url()}/`).href
  const operator = () => createApi({ url: serverUrl(), adminKey: ADMIN_KEY })
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  return {
    ...playground,
    serverUrl,
    operator,
    createApp: (name: string) => createConsoleApp(serverUrl(), name),
    button,
    link: (page: Page, name: string | RegExp) => page.getByRole('link', { name, exact: true }),
    rowOf: (page: Page, text: string | RegExp) => page.getByRole('row').filter({ hasText: text }),
    /** Fails the push of a message of the app for good; returns the message's id. */
    failPush: async ({ id: appId, channelId }: { id: string; channelId: string }, why: string) => {
      const { messages } = await operator().inspect.messages({ appId, channelId })
      const messageId = messages[0]?.id ?? ''
      const db = connectOnce(playground.databaseUrl())
      onTestFinished(() => db.end())
      const payload = { jobs: [{ appId, messageId }], since: new Date().toISOString(), tries: 0 }
      await db`
        select graphile_worker.permanently_fail_jobs(array[added.id], ${why})
        from graphile_worker.add_job('push-message', ${db.json(payload)}::json) added`
      return messageId
    },
    /** A page that is signed in. */
    openConsole: async (hash = '', options: Parameters<typeof playground.open>[1] = {}) => {
      const viewport = { width: 1280, height: 860 }
      const page = await playground.open(`../console/${hash}`, { viewport, ...options })
      await page.getByLabel('Admin key').fill(ADMIN_KEY)
      await button(page, 'Sign in').click()
      await expectHidden(page.getByLabel('Admin key'))
      // The first call of the page was refused, which is how it knows.
      const problems = playground.problems.splice(0)
      expect(problems.filter((problem) => !problem.includes('401'))).toEqual([])
      return page
    },
  }
}

/** An app with users, channels and messages. */
async function createConsoleApp(url: string, name: string) {
  const app = await createApi({ url, adminKey: ADMIN_KEY }).apps.create({ name })
  const backend = createApi({ url, apiKey: app.apiKey })
  const { token } = await backend.tokens.create({ userId: 'ana', name: 'Ana Sousa' })
  await backend.tokens.create({ userId: 'ben', name: 'Ben Okafor' })
  await backend.tokens.create({ userId: 'cook-7', name: 'Dana Reyes' })
  const ana = createApi({ url, token })
  const { id: channelId } = await ana.channels.create({
    type: 'public',
    name: 'Soup of the day',
    memberIds: ['ben'],
  })
  await ana.channels.create({ type: 'group', name: 'Kitchen team', memberIds: ['ben'] })
  for (const text of ['Pumpkin today', 'With ginger']) await ana.messages.send({ channelId, text })
  const attachments = [{ type: 'image' as const, url: 'https://example.com/soup.jpg' }]
  await ana.messages.send({ channelId, text: '', attachments, silent: true })
  return { ...app, channelId }
}
