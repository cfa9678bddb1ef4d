import { describe, expect, test, vi } from 'vitest'
import { stopClock } from './support/clock.ts'
import { upTo } from './support/events.ts'
import { count, expectOverLimit, limited, mint, none } from './support/limited.ts'
import { expectError, post } from './support/raw.ts'
import { ADMIN_KEY } from './support/secrets.ts'

describe('token requests', () => {
  test('token requests count by API key and address, those without a good key apart', async () => {
    const world = await limited({ rateLimits: { ...none, tokens: 2 } })
    for (const _ of [1, 2, 3, 4])
      expectError(await mint(world, { 'X-API-Key': 'wrong' }), 'UNAUTHORIZED')
    for (const remaining of ['1', '0'])
      expect(await mint(world)).toMatchObject({
        status: 200,
        headers: { 'ratelimit-limit': '2', 'ratelimit-remaining': remaining },
      })
    expectError(await mint(world), 'RATE_LIMITED')
    expectError(await mint(world, { 'X-API-Key': 'wrong' }), 'UNAUTHORIZED')
    const { apiKey } = await world.operator.apps.create({ name: 'Other' })
    expect((await mint(world, { 'X-API-Key': apiKey })).status).toBe(200)
  })
  test('a flood of bad API keys is neither looked up nor stops good ones', async () => {
    const statements: string[] = []
    const onStatement = (statement: string) => void statements.push(statement)
    const world = await limited({ rateLimits: { ...none, tokens: 5 }, onStatement })
    expect((await mint(world)).status).toBe(200)
    // A bad key is known for 5 s.
    stopClock()
    statements.length = 0
    const bad = (key: number) => ({ 'X-API-Key': `pk_${String(key).padStart(32, '0')}` })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => mint(world, bad(index))),
    )
    expect([count(answers, 401), count(answers, 429)]).toEqual([5, 45])
    const refused = answers.find(({ status }) => status === 429)
    expectOverLimit(refused, '5')
    const known = answers.findIndex(({ status }) => status === 401)
    expectError(await mint(world, bad(known)), 'UNAUTHORIZED')
    expect(statements.filter((statement) => statement.includes('ak.hash ='))).toHaveLength(5)
    for (const _ of [1, 2, 3]) expect((await mint(world)).status).toBe(200)
  })
  test('a good API key that comes first to a process passes a flood of bad ones', async () => {
    const statements: string[] = []
    const onStatement = (statement: string) => void statements.push(statement)
    const world = await limited({ rateLimits: { ...none, tokens: 5 }, onStatement })
    const { apiKey } = await world.operator.apps.create({ name: 'Other' })
    // The keys that were read for the flood are kept for 10 s.
    stopClock()
    statements.length = 0
    const bad = (key: number) => ({ 'X-API-Key': `pk_${String(key).padStart(32, '0')}` })
    const flood = await Promise.all(upTo(50).map((key) => mint(world, bad(key))))
    expect([count(flood, 401), count(flood, 429)]).toEqual([5, 45])
    expect((await mint(world, { 'X-API-Key': apiKey })).status).toBe(200)
    expectError(await mint(world, bad(51)), 'RATE_LIMITED')
    const [read = '', ...others] = statements.filter((text) => text.includes('ak.created_at'))
    expect(others).toEqual([])
    // It reads the keys that were used last, by their index, however many there are.
    const plan = await world.pool.use((tx) => tx.unsafe(`explain ${read.replace('$1', '20000')}`))
    expect(plan.map((line) => line['QUERY PLAN']).join()).toMatch(/^((?!Sort).)*api_keys_by_use/)
  })
  test('wrong admin keys of an address are refused over a limit, which is shown', async () => {
    const world = await limited({ rateLimits: { ...none, tokens: 2 } })
    const ask = (key: string) =>
      post(world.url, '/admin/apps', { method: 'GET', headers: { 'X-Admin-Key': key } })
    for (const key of ['wrong', 'worse']) expectError(await ask(key), 'UNAUTHORIZED')
    expectOverLimit(await ask('worst'), '2')
    expect((await ask(ADMIN_KEY)).status).toBe(200)
  })
  test('an API key that has expired is not looked up during a flood of bad ones', async () => {
    const world = await limited({ rateLimits: { ...none, tokens: 5 } })
    const { id: appId, apiKey } = await world.operator.apps.create({ name: 'Other' })
    await world.db`
      update api_keys
      set expires_at = now() - interval '1 minute'
      where app_id = ${appId}`
    stopClock()
    const bad = (key: number) => ({ 'X-API-Key': `pk_${String(key).padStart(32, '0')}` })
    const flood = await Promise.all(upTo(50).map((key) => mint(world, bad(key))))
    expect([count(flood, 401), count(flood, 429)]).toEqual([5, 45])
    expectError(await mint(world, { 'X-API-Key': apiKey }), 'RATE_LIMITED')
  })
  test('while good API keys cannot be read, a flood is refused and seldom reads them', async () => {
    const statements: string[] = []
    const onStatement = (statement: string) => void statements.push(statement)
    const world = await limited({ rateLimits: { ...none, tokens: 5 }, onStatement })
    const { apiKey } = await world.operator.apps.create({ name: 'Other' })
    const mintOther = () => mint(world, { 'X-API-Key': apiKey })
    await world.db`alter table api_keys rename column created_at to made_at`
    const clock = stopClock()
    const warn = vi.spyOn(world.app.log, 'warn')
    statements.length = 0
    const bad = (key: number) => ({ 'X-API-Key': `pk_${String(key).padStart(32, '0')}` })
    const flood = await Promise.all(upTo(50).map((key) => mint(world, bad(key))))
    expect([count(flood, 401), count(flood, 429)]).toEqual([5, 45])
    const reads = () => statements.filter((statement) => statement.includes('ak.created_at')).length
    // The pauses after the failures are of 1 s, 2 s and 4 s.
    for (const [ms, tries] of [
      [999, 1],
      [1_000, 2],
      [2_999, 2],
      [3_000, 3],
      [6_999, 3],
    ] as const) {
      clock.putForward(ms)
      const refused = await mintOther()
      expectError(refused, 'RATE_LIMITED')
      expect(refused.headers['retry-after']).toMatch(/^[3-6]\d$/)
      expect(reads()).toBe(tries)
    }
    await world.db`alter table api_keys rename column made_at to created_at`
    clock.putForward(7_000)
    expect((await mintOther()).status).toBe(200)
    const lines = () => warn.mock.calls.map(([, message]) => message)
    const line = 'failed to read the API keys during a flood of bad ones'
    expect(lines()).toEqual([line])
    await world.db`alter table api_keys rename column created_at to made_at`
    clock.putForward(17_000)
    await mint(world, bad(51))
    expect(lines()).toEqual([line, line])
  })
  test('X-Forwarded-For is ignored unless a proxy is trusted', async () => {
    const world = await limited({ rateLimits: { ...none, tokens: 2 } })
    for (const address of ['1.1.1.1', '2.2.2.2'])
      expect((await mint(world, { 'X-Forwarded-For': address })).status).toBe(200)
    expectError(
      await mint(world, {
        'X-Forwarded-For': '3.3.3.3',
        'X-Real-IP': '3.3.3.3',
        Forwarded: 'for=3.3.3.3',
      }),
      'RATE_LIMITED',
    )
  })
  test('the addresses of an IPv6 network count together, and those of another apart', async () => {
    const world = await limited({ rateLimits: { ...none, tokens: 2 }, trustProxy: '127.0.0.1' })
    const from = (address: string, key = '') => ({
      'X-Forwarded-For': address,
      ...(key && { 'X-API-Key': `pk_${key.repeat(32)}` }),
    })
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:ffff::1'])
      expect((await mint(world, from(address))).status).toBe(200)
    expectError(await mint(world, from('2001:db8:1:2::2')), 'RATE_LIMITED')
    expect((await mint(world, from('2001:db8:1:3::1'))).status).toBe(200)
    // Some proxies add the port, which differs for each connection.
    for (const [index, address] of ['192.0.2.7:1', '192.0.2.7', '192.0.2.7:3'].entries())
      expect((await mint(world, from(address))).status).toBe(index < 2 ? 200 : 429)
    expectError(await mint(world, from('::ffff:192.0.2.7')), 'RATE_LIMITED')
    expect((await mint(world, from('::ffff:192.0.2.8'))).status).toBe(200)
    expectError(await mint(world, from('[2001:db8:1:2::3]:50123')), 'RATE_LIMITED')
    for (const key of ['a', 'b'])
      expectError(await mint(world, from(`2001:db8:5:6::${key}`, key)), 'UNAUTHORIZED')
    expectError(await mint(world, from('2001:db8:5:6::c', 'c')), 'RATE_LIMITED')
    expectError(await mint(world, from('2001:db8:5:7::c', 'd')), 'UNAUTHORIZED')
  })
  const behindProxies = {
    'a number of proxies': (_: string, hop: number) => hop < 1,
    'networks of proxies': '10.0.0.0/8, 127.0.0.1',
  }
  for (const [name, trustProxy] of Object.entries(behindProxies)) {
    test(`behind ${name} token requests and bad keys count by the forwarded address`, async () => {
      const world = await limited({ rateLimits: { ...none, tokens: 1 }, trustProxy })
      expect((await mint(world, { 'X-Forwarded-For': '1.1.1.1' })).status).toBe(200)
      expectError(await mint(world, { 'X-Forwarded-For': '9.9.9.9, 1.1.1.1' }), 'RATE_LIMITED')
      expect((await mint(world, { 'X-Forwarded-For': '1.1.1.1, 2.2.2.2' })).status).toBe(200)
      const bad = (key: string) => ({ 'X-API-Key': `pk_${key.repeat(32)}` })
      const from = { 'X-Forwarded-For': '3.3.3.3' }
      expectError(await mint(world, { ...from, ...bad('a') }), 'UNAUTHORIZED')
      expectError(await mint(world, { ...from, ...bad('b') }), 'RATE_LIMITED')
      const elsewhere = { 'X-Forwarded-For': '4.4.4.4' }
      expectError(await mint(world, { ...elsewhere, ...bad('c') }), 'UNAUTHORIZED')
    })
  }
})
