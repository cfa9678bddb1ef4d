import { useEffect, useRef, useState } from 'react'
import { addressOf, useRoute } from '../console/route.ts'
import { Icon } from '../playground/icons.tsx'
import { ThemeSwitch } from '../playground/theme.tsx'
import { DocumentsContext, useDocuments } from './context.ts'
import { CredentialsProvider } from './credentials.tsx'
import { type Documents, loadDocuments, serverUrl } from './documents.ts'
import { EventPage, TopicPage } from './event.tsx'
import { guideNamed } from './guides.ts'
import { Blocks } from './markdown.tsx'
import { Navigation } from './navigation.tsx'
import { OperationPage } from './operation.tsx'
import { NounPage, Overview } from './overview.tsx'
import { Search } from './search.tsx'

const loading = loadDocuments()

/** The page: a bar, the list of all pages, and the one that its address names. */
export function App() {
  const [documents, setDocuments] = useState<Documents>()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    loading.then(setDocuments, (error: Error) => setProblem(error.message))
  }, [])
  if (problem)
    return (
      <p className="welcome" role="alert">
        The documents could not be loaded: {problem}
      </p>
    )
  if (!documents)
    return (
      <p className="welcome" role="status">
        Loading…
      </p>
    )
  return (
    <DocumentsContext.Provider value={documents}>
      <CredentialsProvider>
        <Page />
      </CredentialsProvider>
    </DocumentsContext.Provider>
  )
}

function Page() {
  const { path } = useRoute()
  const [isMenuOpen, setMenuOpen] = useState(false)
  const main = useRef<HTMLElement>(null)
  const address = path.join('/')
  useEffect(() => {
    setMenuOpen(false)
    const [section, name, anchor] = address.split('/')
    const part = section === 'guides' && anchor ? document.getElementById(anchor) : null
    if (part) part.scrollIntoView()
    else window.scrollTo(0, 0)
    const heading = main.current?.querySelector('h2')?.textContent
    const guide = section === 'guides' ? guideNamed(name) : undefined
    document.title = `${address === '' ? 'Docs' : (guide?.title ?? heading)} · Parley`
  }, [address])
  return (
    <>
      <Bar isMenuOpen={isMenuOpen} onMenu={() => setMenuOpen(!isMenuOpen)} />
      <div className="layout" data-menu={isMenuOpen}>
        <Navigation />
        <main ref={main}>
          <Content />
        </main>
      </div>
    </>
  )
}

function Content() {
  const { nouns, topics } = useDocuments()
  const { path } = useRoute()
  const [section, name, detail] = path
  if (section === undefined) return <Overview />
  const guide = section === 'guides' ? guideNamed(name) : undefined
  if (guide)
    return (
      <article className="page prose">
        <Blocks tokens={guide.tokens} file={guide.file} />
      </article>
    )
  const noun = nouns.find((known) => section === 'api' && known.name === name)
  const operation = noun?.operations.find(({ operationId }) => operationId === detail)
  if (operation) return <OperationPage operation={operation} />
  if (noun && detail === undefined) return <NounPage noun={noun} />
  const topic = topics.find(({ id }) => section === 'events' && id === name)
  const event = topic?.events.find((known) => known.name === detail)
  if (topic && event) return <EventPage topic={topic} event={event} />
  if (topic && detail === undefined) return <TopicPage topic={topic} />
  return (
    <article className="page">
      <h2>There is no such page</h2>
      <p>
        <a href={addressOf([])}>To the first page</a>
      </p>
    </article>
  )
}

type BarProps = { isMenuOpen: boolean; onMenu: () => void }

function Bar({ isMenuOpen, onMenu }: BarProps) {
  const { demoUserIds, hasConsole } = useDocuments()
  return (
    <header className="bar">
      <button
        type="button"
        className="icon-button menu-button"
        aria-label="Pages"
        aria-expanded={isMenuOpen}
        onClick={onMenu}
      >
        <Icon name={isMenuOpen ? 'close' : 'menu'} />
      </button>
      <h1>
        <a href={addressOf([])}>
          <span className="logo" aria-hidden="true">
            <Icon name="thread" size={16} />
          </span>
          Parley <span className="muted">Docs</span>
        </a>
      </h1>
      <Search />
      <div className="bar-tools">
        {hasConsole && <a href={`${serverUrl}/console/`}>Console</a>}
        {demoUserIds.length > 0 && <a href={`${serverUrl}/playground/`}>Playground</a>}
        <ThemeSwitch />
      </div>
    </header>
  )
}
