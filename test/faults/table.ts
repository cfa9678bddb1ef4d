import { readFileSync } from 'node:fs'
import { groupsOf } from './groups.ts'
import type { Played } from './play.ts'

/** The output of a scenario: its figures and its violations, as one line of JSON. */
export type Line = Pick<Played, 'violations'> &
  Played['figures'] & { scenario: string; seed: number }

const COLUMNS: [string, (lines: Line[]) => string | number][] = [
  ['runs', (lines) => lines.length],
  ['seconds', (lines) => sum(lines, ({ seconds }) => seconds)],
  ['faults', (lines) => sum(lines, ({ faults }) => faults)],
  ['kill -9', (lines) => sum(lines, killsOf)],
  ['sends answered', (lines) => sum(lines, ({ acknowledged }) => acknowledged)],
  ['events received', (lines) => sum(lines, ({ delivered }) => delivered)],
  ['pushes', (lines) => sum(lines, ({ pushes }) => pushes)],
  ['503', (lines) => sum(lines, ({ answered503 }) => answered503)],
  ['no answer', (lines) => sum(lines, ({ unanswered }) => unanswered)],
  ['longest call', (lines) => longest(lines, ({ longestCallMs }) => longestCallMs)],
  ['longest return', (lines) => longest(lines, ({ longestReturnMs }) => longestReturnMs)],
  [
    'violations',
    (lines) => sum(lines, ({ violations }) => Object.values(violations).flat().length),
  ],
]

/** A row for each scenario, and the sum of all, in Markdown. */
export function tableOf(lines: Line[]) {
  const rows = [...groupsOf(lines, ({ scenario }) => `\`${scenario}\``), ['all', lines] as const]
  return [
    rowOf(['scenario', ...COLUMNS.map(([title]) => title)]),
    `|${'---|'.repeat(1 + COLUMNS.length)}`,
    ...rows.map(([name, own]) => rowOf([name, ...COLUMNS.map(([, cell]) => shown(cell(own)))])),
  ].join('\n')
}

/** The lines that runs have printed into files. Those of skipped scenarios have no figures. */
export const linesIn = (paths: string[]): Line[] =>
  paths
    .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
    .filter((text) => text.startsWith('{'))
    .map((text) => JSON.parse(text))
    .filter((line) => !('skipped' in line))

const killsOf = ({ faultsByName }: Line) =>
  sum(Object.entries(faultsByName), ([name, count]) => (name.includes('kill -9') ? count : 0))

function longest(lines: Line[], of: (line: Line) => number) {
  const milliseconds = Math.max(0, ...lines.map(of))
  return milliseconds === 0 ? '–' : `${(milliseconds / 1_000).toFixed(1)} s`
}

const sum = <Item>(items: Item[], of: (item: Item) => number) =>
  items.reduce((total, item) => total + of(item), 0)
const shown = (cell: string | number) =>
  typeof cell === 'number' ? cell.toLocaleString('en-US') : cell
const rowOf = (cells: string[]) => `| ${cells.join(' | ')} |`
