import { useEffect, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { Icon } from './icons.tsx'
import { Pane } from './pane.tsx'
import { seed } from './seed.ts'
import { createSession, type Session, serverUrl } from './session.ts'
import { ThemeSwitch } from './theme.tsx'
import { describeError } from './toasts.tsx'

const names: Record<string, string> = { ana: 'Ana', ben: 'Ben', cleo: 'Cleo' }
const onlyUser = new URLSearchParams(location.search).get('user')
const userIds = onlyUser !== null && onlyUser in names ? [onlyUser] : ['ana', 'ben']
/** Sessions outlive the components, so that a user connects once, however often React mounts. */
const sessions: Session[] = userIds.map(createSession)
let seeding: Promise<void> | undefined

/** The page: a bar, and below it a pane for each of its users. */
export function App() {
  const problem = useSeed()
  const [shownId, setShownId] = useState(userIds[0])
  return (
    <>
      <Bar shownId={shownId} onShow={setShownId} />
      {problem === undefined ? (
        <p className="welcome" role="status">
          Preparing the demo…
        </p>
      ) : (
        <main className="panes">
          {problem && (
            <p className="banner banner-error" role="alert">
              The demo could not be prepared: {problem}
            </p>
          )}
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
    </>
  )
}

/** The error of preparing the demo: undefined until that ends, and empty if there was none. */
function useSeed() {
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    seeding ??= seed()
    seeding.then(
      () => setProblem(''),
      (error) => setProblem(describeError(error).text),
    )
  }, [])
  return problem
}

type ShownPane = { shownId: string | undefined; onShow: (userId: string) => void }

const Bar = (shownPane: ShownPane) => (
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
      <a href={`${serverUrl}/docs`}>API</a>
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
