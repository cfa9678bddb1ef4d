import { useEffect, useState } from 'react'

type Props = { text: string; language?: string | undefined; label?: string }

/** A block of code, with a button that copies it. */
export const Code = ({ text, language, label = 'Code' }: Props) => (
  <div className="code">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, and is scrolled by keys */}
    <section className="code-frame" tabIndex={0} aria-label={label}>
      <pre>
        <code>{!language || language === 'text' ? text : highlighted(text)}</code>
      </pre>
    </section>
    {/* Pages without TLS have no clipboard. */}
    {'clipboard' in navigator && <CopyButton text={text} />}
  </div>
)

const COPIED_MS = 1_500

function CopyButton({ text }: { text: string }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), COPIED_MS)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <button
      type="button"
      className="copy"
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
    >
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  )
}

const keywords =
  'const|let|var|function|return|await|async|import|from|export|for|of|in|if|else|new|try|catch|' +
  'throw|type|interface|class|final|func|val|select|insert|update|delete|where|null|true|false|' +
  'undefined'
/** Groups are named after their colour. One pattern does for all languages of the guides. */
const PARTS = new RegExp(
  [
    String.raw`(?<comment>(?<![:\w"'])(?:\/\/[^\n]*|\/\*[^]*?\*\/)|(?<=^|\s)#(?!\w+[({])[^\n]*)`,
    String.raw`(?<key>"[^"\n]*"(?=\s*:))`,
    String.raw`(?<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|${'`[^`]*`'})`,
    String.raw`(?<keyword>\b(?:${keywords})\b(?!\s*:))`,
    String.raw`(?<number>\b\d[\d_.]*\b)`,
  ].join('|'),
  'gmu',
)

/** A text with its comments, strings and keywords in spans of their kind. */
function highlighted(text: string) {
  const parts: React.ReactNode[] = []
  let end = 0
  for (const match of text.matchAll(PARTS)) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, found]) => found) ?? []
    parts.push(
      text.slice(end, match.index),
      <span key={match.index} className={`code-${kind}`}>
        {match[0]}
      </span>,
    )
    end = match.index + match[0].length
  }
  return [...parts, text.slice(end)]
}

export const Json = ({ value, label }: { value: unknown; label: string }) => (
  <Code text={JSON.stringify(value, null, 2)} language="json" label={label} />
)
