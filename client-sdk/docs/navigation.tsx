import { useEffect, useRef } from 'react'
import { addressOf, useRoute } from '../console/route.ts'
import { useDocuments } from './context.ts'
import { guideGroups } from './guides.ts'
import { Method } from './operation.tsx'

/** All pages. What belongs to a noun or a topic is listed while one of its pages is open. */
export function Navigation() {
  const { path } = useRoute()
  const navigation = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page, another entry
  useEffect(() => {
    const entry = navigation.current?.querySelector('[aria-current=page]')
    entry?.scrollIntoView({ block: 'nearest' })
  }, [path.join('/')])
  const { nouns, topics } = useDocuments()
  const [section, name, detail] = path
  return (
    <nav ref={navigation} className="navigation" aria-label="Documentation">
      {guideGroups.map(({ title, guides }) => (
        <section key={title}>
          <h2>{title}</h2>
          <ul>
            {guides.map((guide) => (
              <li key={guide.name}>
                <Entry
                  path={['guides', guide.name]}
                  isOpen={section === 'guides' && name === guide.name}
                >
                  {guide.title}
                </Entry>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <section>
        <h2>API</h2>
        <ul>
          {nouns.map((noun) => (
            <li key={noun.name}>
              <Entry
                path={['api', noun.name]}
                isOpen={section === 'api' && name === noun.name && !detail}
              >
                {noun.name}
              </Entry>
              {section === 'api' && name === noun.name && (
                <ul>
                  {noun.operations.map(({ operationId, summary, method }) => (
                    <li key={operationId}>
                      <Entry path={['api', noun.name, operationId]} isOpen={detail === operationId}>
                        <span>{summary}</span> <Method method={method} />
                      </Entry>
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2>Events</h2>
        <ul>
          {topics.map((topic) => (
            <li key={topic.id}>
              <Entry
                path={['events', topic.id]}
                isOpen={section === 'events' && name === topic.id && !detail}
              >
                {topic.title}
              </Entry>
              {section === 'events' && name === topic.id && (
                <ul>
                  {topic.events.map((event) => (
                    <li key={event.name}>
                      <Entry path={['events', topic.id, event.name]} isOpen={detail === event.name}>
                        {event.name}
                      </Entry>
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </section>
    </nav>
  )
}

type EntryProps = { path: string[]; isOpen: boolean; children: React.ReactNode }

const Entry = ({ path, isOpen, children }: EntryProps) => (
  <a href={addressOf(path)} aria-current={isOpen ? 'page' : undefined}>
    {children}
  </a>
)
