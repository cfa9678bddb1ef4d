import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@parley/contract'
import { Variables } from '@parley/server/config/index'
import { observeDatabase } from '@parley/server/core/database-metrics'
import { observeEventLoop } from '@parley/server/core/event-loop-metrics'
import { createMetrics } from '@parley/server/core/metrics'
import type { Db } from '@parley/server/db/client'
import { createListenerWatch, observeListener } from '@parley/server/realtime/broker/listener-watch'
import { expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { root } from './support/consumer.ts'
import { hasProgram, nginxArguments } from './support/proxy-program.ts'

const read = (file: string) => readFileSync(join(root, file), 'utf8')

type Rule = {
  alert: string
  expr: string
  annotations: { runbook: string; summary: string }
  labels: { severity: string }
}
const { groups } = parse(read('ops/parley-alerts.yaml')) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const dashboard = JSON.parse(read('ops/grafana-dashboard.json')) as {
  panels: { title: string; targets: { expr: string }[] }[]
}
const panelQueries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))

function registryOfServer() {
  const metrics = createMetrics()
  const { registry } = metrics
  const isReporter = async () => true
  observeDatabase(metrics, { db: {} as Db, poolSize: 1, isReporter }) // it is not asked
  observeListener(registry, createListenerWatch(1))
  onTestFinished(observeEventLoop(registry))
  return registry
}

/** The metrics of a server, with their labels. */
function exported() {
  const labels = new Map<string, string[]>()
  for (const metric of registryOfServer().getMetricsAsArray()) {
    const {
      name,
      type,
      labelNames = [],
    } = metric as unknown as {
      name: string
      type: string
      labelNames?: string[]
    }
    const isHistogram = type === 'histogram'
    const series = isHistogram ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name]
    for (const each of series) labels.set(each, [...labelNames, 'le', 'instance', 'job'])
  }
  return labels
}

test('the server has every metric and label that the alerts and the dashboard use', () => {
  const labels = exported()
  const queries = [...rules.map(({ expr }) => expr), ...panelQueries]
  expect(queries.length).toBeGreaterThan(30)
  for (const query of queries) {
    for (const [name] of query.matchAll(/\bparley_[a-z0-9_]+/g))
      expect([...labels.keys()], query).toContain(name)
    for (const [, name = '', selector = ''] of query.matchAll(/\b(parley_\w+)\{([^}]*)\}/g)) {
      for (const [, label] of selector.matchAll(/(\w+)(?:=~|!~|!=|=)"/g))
        expect(labels.get(name), query).toContain(label)
    }
  }
})

test('each metric of ours is on the dashboard or in an alert', () => {
  const queries = [...rules.map(({ expr }) => expr), ...panelQueries].join('\n')
  const shown = new Set(queries.match(/\bparley_[a-z0-9_]+/g))
  const missing = [...exported().keys()].filter(
    (name) => name.startsWith('parley_') && !/_(sum|count|bucket)$/.test(name) && !shown.has(name),
  )
  expect(missing.sort()).toEqual(['parley_database_pool_size', 'parley_topics_evicted_total'])
})

test('each alert says what is wrong, and the operations page what to do about it', () => {
  expect(rules.length).toBeGreaterThanOrEqual(10)
  const page = read('docs/operations.md')
  for (const { alert, labels, annotations } of rules) {
    expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`)
    expect(page).toContain(`### ${alert}\n`)
    expect(annotations.summary.length).toBeGreaterThan(10)
    expect(['critical', 'warning']).toContain(labels.severity)
  }
})

test('pods serve until they are out of their service, and stop before they are killed', () => {
  const documents = parseAllDocuments(read('ops/kubernetes.yaml'))
  expect(documents.flatMap(({ errors }) => errors)).toEqual([])
  const objects = documents.map((document) => document.toJS())
  expect(objects.map(({ kind }) => kind)).toEqual([
    'Deployment',
    'Service',
    'PodDisruptionBudget',
    'Ingress',
    'Ingress',
  ])
  const { terminationGracePeriodSeconds, containers, initContainers } =
    objects[0].spec.template.spec
  const [{ image, env, readinessProbe, livenessProbe }] = containers
  const settings = new Map<string, string>(
    env.map(({ name, value }: { name: string; value: string }) => [name, value]),
  )
  const delay = Number(settings.get('SHUTDOWN_DELAY_SECONDS'))
  expect(readinessProbe.httpGet.path).toBe('/health')
  expect(livenessProbe.httpGet.path).toBe('/health/live')
  const { periodSeconds, failureThreshold, timeoutSeconds } = readinessProbe
  expect(delay / 2).toBeGreaterThan(periodSeconds * failureThreshold + timeoutSeconds)
  expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(delay + 15)
  expect(image).toMatch(new RegExp(`:v${limits.apiVersion}$`))
  // The probe of the start would end a long migration, again and again.
  expect(initContainers).toMatchObject([{ image, args: ['migrate'] }])
  expect(initContainers[0].envFrom).toEqual(containers[0].envFrom)
  expect(settings.get('MIGRATE_ON_START')).toBe('off')
  for (const name of settings.keys()) expect(read('.env.example')).toContain(`\n${name}=`)
})

test('the proxies of ops pass WebSockets, and look at the health if they can', () => {
  const nginx = read('ops/nginx.conf')
  expect(nginx).toMatch(/proxy_set_header Upgrade \$http_upgrade;/)
  expect(nginx).toMatch(/proxy_set_header Connection \$parley_connection;/)
  expect(nginx).toMatch(/proxy_http_version 1\.1;/)
  expect(read('ops/Caddyfile')).toMatch(/health_uri \/health\n/)
  expect(read('ops/haproxy.cfg')).toMatch(/option httpchk GET \/health\n/)
})

test('the proxies of ops pass on every body that the server takes', () => {
  const megabytes = (text = '') => Number(/^(\d+)m$/.exec(text)?.[1]) * 1024 ** 2
  const { bodyBytes, syncBodyBytes, messageBatch } = limits
  const largest = Math.max(bodyBytes, syncBodyBytes, messageBatch.bodyBytes)
  const nginx = read('ops/nginx.conf')
  const [before = '', imports = ''] = nginx.split('location = /import {')
  expect(megabytes(/client_max_body_size (\w+);/.exec(before)?.[1])).toBe(largest)
  expect(imports).toMatch(/client_max_body_size 0;/)
  expect(imports).toMatch(/proxy_request_buffering off;/)
  expect(imports).toMatch(/proxy_read_timeout 1h;/)
  expect(read('ops/haproxy.cfg')).toMatch(/set-timeout server 1h if \{ path \/import \}/)

  const ingresses = parseAllDocuments(read('ops/kubernetes.yaml'))
    .map((document) => document.toJS())
    .filter(({ kind }) => kind === 'Ingress')
  const [all, ofImports] = ingresses.map(({ metadata }) => metadata.annotations)
  const annotation = 'nginx.ingress.kubernetes.io'
  expect(megabytes(all[`${annotation}/proxy-body-size`])).toBe(largest)
  expect(ingresses[1].spec.rules[0].http.paths).toMatchObject([
    { path: '/import', pathType: 'Exact' },
  ])
  expect(ofImports).toMatchObject({
    [`${annotation}/proxy-body-size`]: '0',
    [`${annotation}/proxy-request-buffering`]: 'off',
    [`${annotation}/proxy-read-timeout`]: '3600',
  })
})

/** Settings that the image, or having its own database, leaves no choice of. */
const NOT_OF_COMPOSE = [
  ...['NODE_ENV', 'HOST', 'PORT', 'DATA_DIR'],
  ...['DEMO_APP', 'EMBEDDED_DATABASE', 'METRICS_HOST'],
]

test('compose passes on every setting of the server, and has an optional Redis', () => {
  const { services } = parse(read('compose.yaml'))
  const passed = Object.keys(services.parley.environment)
  const missing = Object.keys(Variables.shape).filter((name) => !passed.includes(name))
  expect(missing.sort()).toEqual(NOT_OF_COMPOSE.sort())
  const unknown = passed.filter((name) => !name.startsWith('OTEL_') && !(name in Variables.shape))
  expect(unknown).toEqual([])
  expect(services.redis).toMatchObject({ image: expect.stringMatching(/^redis:/) })
  expect(services.redis.profiles).toEqual(['redis'])
})

test('compose refuses to start without a setting that has no safe default', () => {
  const { services } = parse(read('compose.yaml'))
  const given = Object.entries<string | null>(services.parley.environment)
  // With a colon, compose also refuses a setting that is empty.
  const required = given.filter(([name, value]) => value?.includes(`\${${NAMED[name] ?? name}:?`))
  expect(required.map(([name]) => name).sort()).toEqual([
    'ADMIN_API_KEY',
    'ALLOWED_ORIGINS',
    'DATABASE_URL',
    'JWT_SECRET',
    'PUBLIC_URL',
    'TRUST_PROXY',
  ])
})
/** The variable of compose that a setting needs, where it has another name. */
const NAMED: Record<string, string> = { DATABASE_URL: 'POSTGRES_PASSWORD' }

const folder = () => {
  const path = mkdtempSync(join(tmpdir(), 'parley-ops-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}
const checks: { program: string; version: string; args: () => string[] }[] = [
  {
    program: 'nginx',
    version: '-v',
    args: () => ['-t', ...nginxArguments(folder())],
  },
  {
    program: 'caddy',
    version: 'version',
    args: () => ['validate', '--adapter', 'caddyfile', '--config', join(root, 'ops/Caddyfile')],
  },
  { program: 'haproxy', version: '-v', args: () => ['-c', '-f', join(root, 'ops/haproxy.cfg')] },
  {
    program: 'promtool',
    version: '--version',
    args: () => ['check', 'rules', join(root, 'ops/parley-alerts.yaml')],
  },
]
const isPromtoolThere = hasProgram('promtool', ['--version'])
test.skipIf(!isPromtoolThere)('promtool finds nothing wrong with our metrics', async () => {
  const input = await registryOfServer().metrics()
  const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input })
  const said = `${stdout}${stderr}`.split('\n')
  expect(said.filter((line) => line.startsWith('parley_'))).toEqual([])
})
for (const { program, version, args } of checks) {
  const isThere = hasProgram(program, [version])
  if (!isThere) console.log(`SKIPPED: ${program} is not installed, so it cannot check its file`)
  test.skipIf(!isThere)(`${program} accepts its file of ops`, () => {
    const { status, stderr, stdout } = spawnSync(program, args(), { encoding: 'utf8' })
    expect(status, stdout + stderr).toBe(0)
  })
}
