import { Icon } from '../playground/icons.tsx'
import { ThemeSwitch } from '../playground/theme.tsx'
import { Toasts, useToasts } from '../playground/toasts.tsx'
import { AppPage } from './app-page.tsx'
import { Apps } from './apps.tsx'
import { AuditOfAll } from './audit.tsx'
import { addressOf, useRoute } from './route.ts'
import { serverUrl } from './server.ts'
import { SessionGate, useSession } from './session.tsx'

/** The page: a bar, and what its address names. */
export const App = () => (
  <SessionGate>
    <Toasts>
      <Bar />
      <main className="content">
        <Content />
      </main>
    </Toasts>
  </SessionGate>
)

function Content() {
  const { path } = useRoute()
  const [section, appId, tab, ...rest] = path
  if (section === 'audit') return <AuditOfAll />
  if (section === 'apps' && appId !== undefined)
    return <AppPage key={appId} appId={appId} tab={tab} path={rest} />
  return <Apps />
}

function Bar() {
  const { end } = useSession()
  const { attempt } = useToasts()
  const { path } = useRoute()
  const [section] = path
  return (
    <header className="bar">
      <h1>
        <a href={addressOf([])}>
          <span className="logo" aria-hidden="true">
            <Icon name="thread" size={16} />
          </span>
          <span className="bar-name">
            Parley <span className="muted wide-only">Console</span>
          </span>
        </a>
      </h1>
      <nav aria-label="Console" className="bar-links">
        <a href={addressOf([])} aria-current={section === 'audit' ? undefined : 'page'}>
          Apps
        </a>
        <a href={addressOf(['audit'])} aria-current={section === 'audit' ? 'page' : undefined}>
          Audit log
        </a>
      </nav>
      <div className="bar-tools">
        <a className="wide-only" href={`${serverUrl}/openapi.json`}>
          API
        </a>
        <ThemeSwitch />
        <button
          type="button"
          className="button button-quiet button-small"
          onClick={() => void attempt(end())}
        >
          Sign out
        </button>
      </div>
    </header>
  )
}
