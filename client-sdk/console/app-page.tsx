import type { ReactNode } from 'react'
import { Skeletons } from '../playground/skeletons.tsx'
import { AuditOfApp } from './audit.tsx'
import { Channels } from './channels.tsx'
import { Jobs } from './jobs.tsx'
import { Keys } from './keys.tsx'
import { Messages } from './messages.tsx'
import { Notifications } from './notifications.tsx'
import { Overview } from './overview.tsx'
import { addressOf } from './route.ts'
import { api } from './server.ts'
import { Settings } from './settings.tsx'
import { NotFound, ProblemNote } from './table.tsx'
import type { AppRecord } from './types.ts'
import { useData } from './use-data.ts'
import { Users } from './users.tsx'
import { Deliveries, Webhooks } from './webhooks.tsx'

const tabs = {
  overview: 'Overview',
  keys: 'API keys',
  users: 'Users',
  channels: 'Channels',
  webhooks: 'Webhooks',
  jobs: 'Failed jobs',
  audit: 'Audit log',
  settings: 'Settings',
} as const
type Tab = keyof typeof tabs
const isTab = (name: string | undefined): name is Tab => name !== undefined && name in tabs

type Props = { appId: string; tab: string | undefined; path: readonly string[] }

/** One app: what it has, and what the operator may do with it. */
export function AppPage({ appId, tab: named, path }: Props) {
  const tab = isTab(named) ? named : 'overview'
  const { data: app, problem, reload } = useData(() => api.apps.get({ appId }), { key: appId })
  if (problem?.code === 'NOT_FOUND' && !app)
    return <NotFound what="app" list={{ title: 'All apps', address: addressOf([]) }} />
  if (problem && !app) return <ProblemNote problem={problem} onRetry={reload} />
  if (!app) return <Skeletons label="Loading the app" count={3} />
  return (
    <>
      <header className="page-head">
        <h2>{app.name}</h2>
        {!app.enabled && <span className="badge badge-bad">Disabled</span>}
        <span className="id">{app.id}</span>
      </header>
      <nav ref={keepTabShown} className="tabs" aria-label={app.name}>
        {Object.entries(tabs).map(([name, title]) => (
          <a
            key={name}
            ref={name === tab ? showTab : undefined}
            href={addressOf(['apps', appId, name])}
            aria-current={name === tab ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {contentOf(tab, { app, onChange: reload, path })}
    </>
  )
}

/** On a narrow screen not all tabs are visible. */
const showTab = (tab: Element | null) => tab?.scrollIntoView({ block: 'nearest' })

/** A phone that is turned makes the screen narrow, too. */
function keepTabShown(tabs: HTMLElement) {
  const observer = new ResizeObserver(() => showTab(tabs.querySelector('[aria-current]')))
  observer.observe(tabs)
  return () => observer.disconnect()
}

type TabProps = { app: AppRecord; onChange: () => void; path: readonly string[] }

function contentOf(tab: Tab, { app, onChange, path: [id] }: TabProps): ReactNode {
  const { id: appId } = app
  const contents: Record<Tab, ReactNode> = {
    overview: <Overview appId={appId} />,
    keys: <Keys app={app} onChange={onChange} />,
    users: id === undefined ? <Users appId={appId} /> : <Notifications appId={appId} userId={id} />,
    channels:
      id === undefined ? <Channels appId={appId} /> : <Messages appId={appId} channelId={id} />,
    webhooks:
      id === undefined ? <Webhooks appId={appId} /> : <Deliveries appId={appId} webhookId={id} />,
    jobs: <Jobs appId={appId} />,
    audit: <AuditOfApp app={app} />,
    settings: <Settings app={app} onChange={onChange} />,
  }
  return contents[tab]
}
