import type { ReactNode } from 'react'
import { Skeletons } from '../playground/skeletons.tsx'
import type { Pages } from './use-pages.ts'

export type Column<Row> = {
  title: string
  cell: (row: Row) => ReactNode
  /** Numbers are aligned to the right. */
  isNumber?: boolean
  /** Left out on narrow screens, unless the table is stacked there. */
  isMinor?: boolean
}
type TableProps<Row> = {
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  /** On narrow screens each row is a list of all its cells, for rows that are read one by one. */
  isStacked?: boolean
}

export const Table = <Row,>({
  label,
  columns,
  rows,
  keyOf,
  isStacked = false,
}: TableProps<Row>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keys
  <section className="table-frame" aria-label={label} tabIndex={0}>
    <table className={isStacked ? 'stacked' : undefined}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col" className={classOf(column)}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map((column) => (
              <td key={column.title} className={classOf(column)} data-title={column.title}>
                <div>{column.cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const classOf = <Row,>({ isNumber = false, isMinor = false }: Column<Row>) =>
  [isNumber ? 'number' : '', isMinor ? 'minor' : ''].join(' ').trim() || undefined

/** Where a search was given up for now, with more to look at. */
export const NOTHING_YET = 'Nothing found so far.'

/** Loads again what is shown; of a list its first page. */
export const Refresh = ({ reload }: { reload: () => void }) => (
  <button type="button" className="button button-quiet" onClick={reload}>
    Refresh
  </button>
)

type PagedTableProps<Row> = Omit<TableProps<Row>, 'rows'> & {
  pages: Pages<Row>
  /** The text that is shown when there are no rows. */
  empty: ReactNode
}

/** A table with a button for its next page. */
export function PagedTable<Row>({ pages, empty, ...table }: PagedTableProps<Row>) {
  const { rows, isLoading, problem, hasMore } = pages
  const isEmpty = rows.length === 0
  return (
    <>
      {!isEmpty && <Table {...table} rows={rows} />}
      {isEmpty && isLoading && <Skeletons label={`Loading ${table.label}`} count={4} />}
      {isEmpty && !isLoading && !problem && (
        <p className="empty">{hasMore ? NOTHING_YET : empty}</p>
      )}
      {problem && <ProblemNote problem={problem} onRetry={pages.reload} />}
      {hasMore && (
        <button
          type="button"
          className="button button-quiet more"
          disabled={isLoading}
          onClick={pages.loadMore}
        >
          {isLoading ? 'Loading…' : 'Show more'}
        </button>
      )}
    </>
  )
}

type NotFoundProps = { what: string; list: { title: string; address: string } }

/** In the place of something that the address names, and that does not exist. */
export const NotFound = ({ what, list }: NotFoundProps) => (
  <p className="empty" role="alert">
    There is no {what} with this id. It may have been deleted.{' '}
    <a href={list.address}>{list.title}</a>
  </p>
)

type ProblemProps = { problem: { text: string; code: string }; onRetry: () => void }

/** Why something could not be loaded. */
export const ProblemNote = ({ problem, onRetry }: ProblemProps) => (
  <p className="refusal" role="alert">
    <span>
      <code>{problem.code}</code> {problem.text}
    </span>
    <button type="button" className="button button-quiet button-small" onClick={onRetry}>
      Try again
    </button>
  </p>
)
