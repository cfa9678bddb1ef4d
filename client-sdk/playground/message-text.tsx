import { firstName } from './format.ts'
import { useRoom } from './room.ts'

const TOKENS =
  /(```[\s\S]*?```|`[^`\n]+`|https?:\/\/[^\s<]+[^\s<.,:;!?)\]'"]|(?<![\p{L}\p{N}_])@[\p{L}\p{N}_.-]*[\p{L}\p{N}_])/u
const ONLY_EMOJI =
  /^(?:\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}\uFE0F]?(?:\u200D\p{Extended_Pictographic}\uFE0F?)*\s?){1,3}$/u

/** A text with its code, links and mentions. */
export function MessageText({ text, mentions }: { text: string; mentions: readonly string[] }) {
  const { members, me } = useRoom()
  if (ONLY_EMOJI.test(text)) return <span className="emoji-only">{text}</span>
  const parts = text.split(TOKENS)
  return parts.map((part, place) => {
    const key = `${place}:${part}`
    if (place % 2 === 0) return parts[place - 1]?.startsWith('```') ? part.replace(/^\n/, '') : part
    if (part.startsWith('```')) return <pre key={key}>{part.slice(3, -3).trim()}</pre>
    if (part.startsWith('`')) return <code key={key}>{part.slice(1, -1)}</code>
    if (part.startsWith('http')) return <Link key={key} url={part} />
    const name = part.slice(1)
    const member = members.find(({ userId }) => userId === name)
    if (!member && !mentions.includes(name)) return part
    return (
      <span key={key} className={name === me ? 'mention mention-me' : 'mention'} title={name}>
        @{member ? firstName(member.user.name) : name}
      </span>
    )
  })
}

const Link = ({ url }: { url: string }) => (
  <a href={url} target="_blank" rel="noreferrer">
    {url.replace(/^https?:\/\//, '')}
  </a>
)

/** A text in one line. */
export const plainText = (text: string) => text.replace(/\s+/g, ' ').trim()
