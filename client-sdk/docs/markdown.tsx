import { Lexer, lexer, type Token, type Tokens } from 'marked'
import { withKeys } from '../playground/with-keys.ts'
import { Code } from './code.tsx'
import { anchorOf } from './guides.ts'
import { isOutside, linkOf, linkTextOf } from './links.ts'

type Props = {
  tokens: readonly Token[]
  /** The file that the text is from: its links start there. */
  file?: string
}

/** The documents are ours, but their HTML is not rendered: it would be shown as text. */
export const Markdown = ({ text, file = 'docs/openapi.md' }: { text: string; file?: string }) => (
  <div className="prose">
    <Blocks tokens={lexer(text)} file={file} />
  </div>
)

/** A line of a description, without a paragraph around it. */
export const InlineMarkdown = ({ text }: { text: string }) => (
  <Inlines tokens={Lexer.lexInline(text)} file="docs/openapi.md" />
)

export const Blocks = ({ tokens, file = '' }: Props) =>
  withKeys(tokens).map(([key, token]) => <Block key={key} token={token} file={file} />)

function Block({ token, file }: { token: Token; file: string }) {
  const children = <Inlines tokens={'tokens' in token ? (token.tokens ?? []) : []} file={file} />
  switch (token.type) {
    case 'heading':
      return <Heading heading={token as Tokens.Heading}>{children}</Heading>
    case 'paragraph':
      return <p>{children}</p>
    case 'text':
      return 'tokens' in token && token.tokens ? children : (token as Tokens.Text).text
    case 'code':
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang} />
    case 'list':
      return <List list={token as Tokens.List} file={file} />
    case 'table':
      return <Table table={token as Tokens.Table} file={file} />
    case 'blockquote':
      return (
        <blockquote>
          <Blocks tokens={(token as Tokens.Blockquote).tokens} file={file} />
        </blockquote>
      )
    case 'hr':
      return <hr />
    case 'space':
      return null
    default:
      return token.raw
  }
}

type HeadingProps = { heading: Tokens.Heading; children: React.ReactNode }

/** A heading. The first is the name of the page, below that of the site. */
function Heading({ heading, children }: HeadingProps) {
  const Element = (['h2', 'h3', 'h4'] as const)[heading.depth - 1] ?? 'h5'
  return <Element id={anchorOf(heading.text.replaceAll('`', ''))}>{children}</Element>
}

function List({ list, file }: { list: Tokens.List; file: string }) {
  const Element = list.ordered ? 'ol' : 'ul'
  return (
    <Element start={list.ordered && list.start !== '' ? list.start : undefined}>
      {withKeys(list.items).map(([key, item]) => (
        <li key={key}>
          <Blocks tokens={item.tokens} file={file} />
        </li>
      ))}
    </Element>
  )
}

const Table = ({ table: { header, rows }, file }: { table: Tokens.Table; file: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it may scroll, and is then scrolled by keys
  <section className="table-frame" tabIndex={0} aria-label="Table">
    <table>
      <thead>
        <tr>
          {withKeys(header).map(([key, { tokens, text }]) =>
            text === '' ? (
              <td key={key} />
            ) : (
              <th key={key} scope="col">
                <Inlines tokens={tokens} file={file} />
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>
        {withKeys(rows).map(([key, cells]) => (
          <tr key={key}>
            {withKeys(cells).map(([cellKey, { tokens }]) => (
              <td key={cellKey}>
                <Inlines tokens={tokens} file={file} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const Inlines = ({ tokens, file = '' }: Props) =>
  withKeys(tokens).map(([key, token]) => <Inline key={key} token={token} file={file} />)

const styles: Record<string, 'strong' | 'em' | 'del'> = { strong: 'strong', em: 'em', del: 'del' }

function Inline({ token, file }: { token: Token; file: string }) {
  const text = unescaped((token as Tokens.Text).text ?? token.raw)
  if (token.type === 'codespan') return <code>{text}</code>
  if (token.type === 'br') return <br />
  if (token.type === 'html') return token.raw
  const children =
    'tokens' in token && token.tokens ? <Inlines tokens={token.tokens} file={file} /> : text
  if (token.type === 'link') {
    const address = linkOf((token as Tokens.Link).href, file)
    const outside = isOutside(address) ? { target: '_blank', rel: 'noreferrer' } : {}
    return (
      <a href={address} {...outside}>
        {linkTextOf(text, address) ?? children}
      </a>
    )
  }
  const Style = styles[token.type]
  return Style ? <Style>{children}</Style> : children
}

/** Texts of tokens may have entities in place of these characters. */
const unescaped = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
