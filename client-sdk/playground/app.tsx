import { useEffect, useState } from 'react'
import { Avatar } from './avatar.tsx'
import { Icon } from './icons.tsx'
import { Pane } from './pane.tsx'
import { seed } from './seed.ts'
import { createSession, type Session, serverUrl } from './session.ts'
import { ThemeSwitch } from './theme.tsx'
import { describe } from './toasts.tsx'

const names: Record<string, string> = { ana: 'Ana', ben: 'Ben', cleo: 'Cleo' }
const asked = new URLSearchParams(location.search).get('user')
const players = asked !== null && asked in names ? [asked] : ['ana', 'ben']
/** They outlive the components: a client makes one connection, however often React mounts. */
const sessions: Session[] = players.map(createSession)
let seeding: Promise<void> | undefined

/** The page: a bar, and below it a pane for each user that it plays. */
export function App() {
  const problem = useSeed()
  const [shown, setShown] = useState(players[0])
  return (
    <>
      <header className="bar">
        <h1>
          <span className="logo" aria-hidden="true">
            <Icon name="thread" size={16} />
          </span>
          Parley <span className="bar-sub">Playground</span>
        </h1>
        {players.length > 1 && <PaneSwitch shown={shown} onShow={setShown} />}
        <p className="hint">
          {players.length > 1 ? (
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
              isShown={sessions.length === 1 || session.userId === shown}
              isAlone={sessions.length === 1}
            />
          ))}
        </main>
      )}
    </>
  )
}

/** What went wrong while the demo was being prepared; empty when nothing did, undefined while it is. */
function useSeed() {
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    seeding ??= seed()
    seeding.then(
      () => setProblem(''),
      (error) => setProblem(describe(error).text),
    )
  }, [])
  return problem
}

/** On narrow screens: whose pane is shown. */
const PaneSwitch = ({
  shown,
  onShow,
}: {
  shown: string | undefined
  onShow: (userId: string) => void
}) => (
  <fieldset className="pane-switch">
    <legend className="sr-only">Whose side to show</legend>
    {players.map((userId) => (
      <button
        key={userId}
        type="button"
        aria-pressed={shown === userId}
        onClick={() => onShow(userId)}
      >
        <Avatar id={userId} name={names[userId] ?? userId} size="small" />
        {names[userId]}
      </button>
    ))}
  </fieldset>
)
