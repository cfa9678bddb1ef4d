/** A name, a text, or another value of JSON. */
const TOKENS = /("(?:[^"\\]|\\.)*"(?:\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*)/

/** A value as formatted JSON, in colours. */
export const Json = ({ value }: { value: unknown }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
  <pre className="wire-json" tabIndex={0}>
    {JSON.stringify(value, null, 2)
      .split(TOKENS)
      .map((part, index) => {
        const key = `${index}:${part}`
        return index % 2 === 0 ? (
          part
        ) : (
          <span key={key} className={classOf(part)}>
            {part}
          </span>
        )
      })}
  </pre>
)

function classOf(token: string) {
  if (token.endsWith(':')) return 'json-name'
  return token.startsWith('"') ? 'json-text' : 'json-value'
}
