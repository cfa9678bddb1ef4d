import { type ReactNode, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { Icon } from './icons.tsx'
import { Pane } from './pane.tsx'
import { createSession, type Session, serverUrl } from './session.ts'
import { Shortcuts } from './shortcuts.tsx'
import { ThemeSwitch } from './theme.tsx'
import { useSeed } from './use-seed.ts'
import { useWireSwitch } from './use-wire-switch.ts'
import { createWireLog } from './wire-log.ts'
import { WirePanel } from './wire-panel.tsx'

const names: Record<string, string> = { ana: 'Ana', ben: 'Ben', cleo: 'Cleo' }
const onlyUser = new URLSearchParams(location.search).get('user')
const userIds = onlyUser !== null && onlyUser in names ? [onlyUser] : ['ana', 'ben']
/** Sessions outlive the components, so that a user connects once, however often React mounts. */
const wire = createWireLog()
const sessions: Session[] = userIds.map((id) => createSession(id, wire.recorderOf(id)))

/** The page: a bar, a pane for each of its users, and the wire view if it is open. */
export function App() {
  const { isReady, problem, tryAgain } = useSeed()
  const [shownId, setShownId] = useState(userIds[0])
  const [isWireOpen, setWireOpen] = useWireSwitch()
  const wireSwitch = (
    <button
      type="button"
      className="bar-button"
      aria-pressed={isWireOpen}
      onClick={() => setWireOpen(!isWireOpen)}
    >
      <Icon name="wire" size={16} /> Wire
    </button>
  )
  return (
    <>
      <Bar shownId={shownId} onShow={setShownId} wireSwitch={wireSwitch} />
      {problem && (
        <div className="banner" role="alert">
          <p>The demo could not be prepared. {problem}</p>
          <button type="button" className="button button-small" onClick={tryAgain}>
            Try again
          </button>
        </div>
      )}
      {!isReady ? (
        <p className="welcome" role="status">
          Preparing the demo…
        </p>
      ) : (
        <main className="panes">
          {sessions.map((session) => (
            <Pane
              key={session.userId}
              session={session}
              isShown={sessions.length === 1 || session.userId === shownId}
              isAlone={sessions.length === 1}
            />
          ))}
        </main>
      )}
      {isWireOpen && <WirePanel log={wire} onClose={() => setWireOpen(false)} />}
    </>
  )
}

type ShownPane = { shownId: string | undefined; onShow: (userId: string) => void }

const Bar = ({ wireSwitch, ...shownPane }: ShownPane & { wireSwitch: ReactNode }) => (
  <header className="bar">
    <h1>
      <span className="logo" aria-hidden="true">
        <Icon name="thread" size={16} />
      </span>
      Parley <span className="bar-sub">Playground</span>
    </h1>
    {userIds.length > 1 && <PaneSwitch {...shownPane} />}
    <p className="hint">
      {userIds.length > 1 ? (
        <>
          Two users of one server. Open one alone: <a href="?user=ana">Ana</a> ·{' '}
          <a href="?user=ben">Ben</a>
        </>
      ) : (
        <a href="./">Both side by side</a>
      )}
    </p>
    <nav aria-label="Playground" className="bar-links">
      {wireSwitch}
      <Shortcuts />
      <a href={`${serverUrl}/docs`}>Docs</a>
      <ThemeSwitch />
    </nav>
  </header>
)

/** Chooses the pane to show on a narrow screen. */
const PaneSwitch = ({ shownId, onShow }: ShownPane) => (
  <fieldset className="pane-switch">
    <legend className="sr-only">User to show</legend>
    {userIds.map((userId) => (
      <button
        key={userId}
        type="button"
        aria-pressed={shownId === userId}
        onClick={() => onShow(userId)}
      >
        <Avatar id={userId} name={names[userId] ?? userId} size="small" />
        {names[userId]}
      </button>
    ))}
  </fieldset>
)
