import { firstName } from './format.ts'
import { useOpenChannel } from './open-channel.ts'

const CODE_BLOCK = /```[\s\S]*?```/u
const CODE = /`[^`\n]+`/u
const LINK = /https?:\/\/[^\s<]+[^\s<.,:;!?)\]'"]/u
const MENTION = /(?<![\p{L}\p{N}_])@[\p{L}\p{N}_.-]*[\p{L}\p{N}_]/u
/** Splits a text: parts with an even index are plain text, the others are one of the above. */
const TOKENS = new RegExp(
  `(${[CODE_BLOCK, CODE, LINK, MENTION].map(({ source }) => source).join('|')})`,
  'u',
)

const EMOJI = /\p{Extended_Pictographic}[\u{1F3FB}-\u{1F3FF}\uFE0F]?/u
const JOINED_EMOJI = /\u200D\p{Extended_Pictographic}\uFE0F?/u
const ONLY_EMOJI = new RegExp(`^(?:${EMOJI.source}(?:${JOINED_EMOJI.source})*\\s?){1,3}$`, 'u')

/** A text with its code, links and mentions. Up to three emojis alone are shown large. */
export function MessageText({ text, mentions }: { text: string; mentions: readonly string[] }) {
  if (ONLY_EMOJI.test(text)) return <span className="emoji-only">{text}</span>
  const parts = text.split(TOKENS)
  return parts.map((part, index) => {
    const key = `${index}:${part}`
    if (index % 2 === 1) return <Token key={key} token={part} mentions={mentions} />
    // A code block ends its line by itself.
    return parts[index - 1]?.startsWith('```') ? part.replace(/^\n/, '') : part
  })
}

function Token({ token, mentions }: { token: string; mentions: readonly string[] }) {
  if (token.startsWith('```')) return <pre>{token.slice(3, -3).trim()}</pre>
  if (token.startsWith('`')) return <code>{token.slice(1, -1)}</code>
  if (token.startsWith('http')) return <Link url={token} />
  return <Mention userId={token.slice(1)} mentions={mentions} />
}

const Link = ({ url }: { url: string }) => (
  <a href={url} target="_blank" rel="noreferrer">
    {url.replace(/^https?:\/\//, '')}
  </a>
)

function Mention({ userId, mentions }: { userId: string; mentions: readonly string[] }) {
  const { members, me } = useOpenChannel()
  const member = members.find((candidate) => candidate.userId === userId)
  if (!member && !mentions.includes(userId)) return `@${userId}`
  return (
    <span className={userId === me ? 'mention mention-me' : 'mention'} title={userId}>
      @{member ? firstName(member.user.name) : userId}
    </span>
  )
}

/** A text on one line. */
export const plainText = (text: string) => text.replace(/\s+/g, ' ').trim()
