import { act, createElement } from 'react'
import { expect, test } from 'vitest'
import { inConsole } from './in-console.ts'
import { answerCalls, field, named, refusal, usePage } from './page.ts'

const page = usePage()

const formIn = (container: Element) => {
  const form = container.querySelector('form')
  if (!form) throw new Error('there is no form')
  return form
}

test('a form of an API key sends only what was changed', async () => {
  const { KeyForm } = await import('@parley/client/internal/console/key-form.tsx')
  const before = { name: 'Old', scopes: ['read' as const], expiresAt: '2027-01-02T03:04:05.678Z' }
  const sent: object[] = []
  const onSubmit = async (changes: object) => sent.push(changes)
  const form = { title: 'Edit', submit: 'Save', before, onSubmit, onClose: () => {} }
  const show = async () =>
    (await page.show(await inConsole(createElement(KeyForm, form)))).container
  const unchanged = await show()
  await page.submit(formIn(unchanged))
  const renamed = await show()
  await page.type(field(renamed, 'Name'), ' New ')
  await page.submit(formIn(renamed))
  const widened = await show()
  await page.type(field(widened, 'Name'), '')
  const choices = [...widened.querySelectorAll<HTMLInputElement>('input[type="radio"]')]
  expect(choices.map(({ checked }) => checked)).toEqual([false, true, false, false])
  await page.click(choices[3] as Element)
  await page.type(field(widened, 'Expires'), '')
  await page.submit(formIn(widened))
  expect(sent).toEqual([
    {},
    { name: 'New' },
    { name: null, scopes: ['read', 'mint'], expiresAt: null },
  ])
})

test('a form that is sent once is not sent again, unless it was refused', async () => {
  const { FormDialog } = await import('@parley/client/internal/console/form-dialog.tsx')
  const { ChatError } = await import('@parley/client')
  let refuse = (_: Error) => {}
  const onSubmit = () =>
    new Promise((_, reject) => {
      refuse = reject
    })
  const props = { title: 'Do it', submit: 'Go', onSubmit, onClose: () => {}, children: null }
  const { container } = await page.show(await inConsole(createElement(FormDialog, props)))
  const button = named(container, 'button', 'Go') as HTMLButtonElement
  await page.submit(formIn(container))
  expect(button.disabled).toBe(true)
  await act(async () => refuse(new ChatError('too many', { code: 'VALIDATION_ERROR' })))
  expect(button.disabled).toBe(false)
  expect(container.querySelector('[role="alert"]')?.textContent).toBe('VALIDATION_ERROR too many')
})

const noRates = { tokens: null, messages: null, requests: null, appends: null, appRequests: null }
const shop = {
  id: '019c9b1d-11aa-7b2c-8c3d-4e5f60718293',
  name: 'Shop',
  enabled: true,
  createdAt: '2026-01-01T00:00:00.000Z',
  keys: [],
  settings: { messageRetentionDays: null, userAdminAccess: null, rateLimits: noRates },
}
const PATH = `/console/admin/apps/${shop.id}`
type Settings = Partial<Record<keyof typeof shop.settings, unknown>>

async function showSettings(settings: Settings = {}) {
  const { Settings } = await import('@parley/client/internal/console/settings.tsx')
  const app = { ...shop, settings: { ...shop.settings, ...settings } } as never // as it is read
  const props = { app, onChange: () => {} }
  return (await page.show(await inConsole(createElement(Settings, props)))).container
}

test('only the settings of an app that were changed are sent', async () => {
  const calls = answerCalls(() => shop)
  const rateLimits = { ...noRates, messages: 60 }
  const container = await showSettings({ messageRetentionDays: 30, rateLimits })
  await page.type(field(container, 'Keep messages'), '90')
  await page.type(field(container, 'Messages of a user'), '')
  await page.type(field(container, 'Other calls'), '0')
  await page.submit(formIn(container))
  await page.type(field(container, 'Name'), 'Store')
  const settings = { messageRetentionDays: 90, rateLimits: { messages: null, requests: 0 } }
  expect(calls).toEqual([{ method: 'PATCH', path: PATH, body: { settings } }])
  expect(container.textContent).not.toContain('Saved')
})

test('messages that were kept are deleted only after a question', async () => {
  const calls = answerCalls(() => shop)
  for (const before of [null, 30]) {
    const container = await showSettings({ messageRetentionDays: before })
    await page.type(field(container, 'Keep messages'), '7')
    await page.submit(formIn(container))
    expect(calls).toEqual([])
    const dialog = container.querySelector('dialog')
    if (!dialog) throw new Error('nothing was asked')
    expect(dialog.querySelector('h2')?.textContent).toBe('Delete messages older than 7 days?')
    await page.submit(formIn(dialog))
    const body = { settings: { messageRetentionDays: 7 } }
    expect(calls.splice(0)).toEqual([{ method: 'PATCH', path: PATH, body }])
    expect(container.querySelector('dialog')).toBeNull()
    expect(container.textContent).toContain('Saved')
  }
})

test('an app is deleted only once its name was typed', async () => {
  const calls = answerCalls(() => ({ success: true }))
  const container = await showSettings()
  await page.click(named(container, 'button', 'Delete'))
  const button = named(container, 'button', 'Delete for good') as HTMLButtonElement
  const dialog = container.querySelector('dialog') as Element
  await page.type(field(dialog, 'Name of the app'), 'shop')
  expect(button.disabled).toBe(true)
  await page.type(field(dialog, 'Name of the app'), 'Shop')
  expect(button.disabled).toBe(false)
  await page.submit(formIn(dialog))
  expect(calls).toEqual([{ method: 'DELETE', path: PATH, body: undefined }])
})

test('an app is disabled after a question, and what was refused is said', async () => {
  const calls = answerCalls(() => refusal(503, 'UNAVAILABLE'))
  const container = await showSettings()
  await page.click(named(container, 'button', 'Disable'))
  expect(calls).toEqual([])
  await page.submit(formIn(container.querySelector('dialog') as Element))
  expect(calls[0]).toEqual({ method: 'PATCH', path: PATH, body: { enabled: false } })
  await expect
    .poll(() => container.querySelector('[role="alert"]')?.textContent)
    .toContain('UNAVAILABLE')
})

test('a retried job is queued, and one that was refused can be retried again', async () => {
  const { Jobs } = await import('@parley/client/internal/console/jobs.tsx')
  const job = {
    ...{ id: '7', task: 'push-message', size: 3, attempts: 2, reason: 'refused' },
    ...{ stagedAt: shop.createdAt, failedAt: shop.createdAt },
    about: [{ messageId: 'm', channelId: null, userId: null }],
  }
  let isBroken = true
  answerCalls(({ method }) => {
    if (method === 'GET') return { jobs: [job], nextCursor: null }
    return isBroken ? refusal(404, 'NOT_FOUND') : { success: true }
  })
  const element = await inConsole(createElement(Jobs, { appId: shop.id }))
  const { container } = await page.show(element)
  await expect.poll(() => container.textContent).toContain('and 2 more')
  await page.click(named(container, 'button', 'Retry'))
  expect(container.textContent).not.toContain('Queued')
  isBroken = false
  await page.click(named(container, 'button', 'Retry'))
  expect(container.textContent).toContain('Queued')
})
