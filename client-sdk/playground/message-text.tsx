import { firstName } from './format.ts'
import { type Block, type Inline, parseMarkdown } from './markdown.ts'
import { useNavigation } from './navigation.ts'
import { useOpenChannel } from './open-channel.ts'
import { withKeys } from './with-keys.ts'

const EMOJI = /\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}\uFE0F]?/u
const JOINED_EMOJI = /\u200D\p{Extended_Pictographic}\uFE0F?/u
const ONLY_EMOJI = new RegExp(`^(?:${EMOJI.source}(?:${JOINED_EMOJI.source})*\\s?){1,3}$`, 'u')

/** A text with its styles, links and mentions. Up to three emojis alone are shown large. */
export function MessageText({ text }: { text: string }) {
  if (ONLY_EMOJI.test(text)) return <span className="emoji-only">{text}</span>
  return withKeys(parseMarkdown(text)).map(([key, block]) => (
    <MessageBlock key={key} block={block} />
  ))
}

function MessageBlock({ block }: { block: Block }) {
  if (block.type === 'code') return <pre>{block.text}</pre>
  if (block.type === 'text') return <Inlines parts={block.children} />
  if (block.type === 'quote')
    return (
      <blockquote>
        <Inlines parts={block.children} />
      </blockquote>
    )
  const List = block.start === undefined ? 'ul' : 'ol'
  return (
    <List start={block.start}>
      {withKeys(block.items).map(([key, parts]) => (
        <li key={key}>
          <Inlines parts={parts} />
        </li>
      ))}
    </List>
  )
}

const Inlines = ({ parts }: { parts: readonly Inline[] }) =>
  withKeys(parts).map(([key, part]) => <InlinePart key={key} part={part} />)

const elements = { bold: 'strong', italic: 'em', strike: 's' } as const

function InlinePart({ part }: { part: Inline }) {
  if (part.type === 'text') return part.text
  if (part.type === 'code') return <code>{part.text}</code>
  if (part.type === 'link') return <Link url={part.text} />
  if (part.type === 'mention') return <Mention userId={part.text} />
  const Element = elements[part.type]
  return (
    <Element>
      <Inlines parts={part.children} />
    </Element>
  )
}

const Link = ({ url }: { url: string }) => (
  <a href={url} target="_blank" rel="noreferrer">
    {url.replace(/^https?:\/\//, '')}
  </a>
)

/** Anybody's name may follow an @: what is not a member's is text. */
function Mention({ userId }: { userId: string }) {
  const { members, me } = useOpenChannel()
  const { openProfile } = useNavigation()
  const member = members.find((candidate) => candidate.userId === userId)
  if (!member) return `@${userId}`
  return (
    <button
      type="button"
      className={userId === me ? 'mention mention-me' : 'mention'}
      title={userId}
      // The list of members has the same for the keyboard.
      tabIndex={-1}
      onClick={() => openProfile(userId)}
    >
      @{firstName(member.user.name)}
    </button>
  )
}
