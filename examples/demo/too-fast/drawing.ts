import type { Colour, Terminal } from '../terminal.ts'
import { WINDOW_MS } from './arrivals.ts'
import { bars } from './bars.ts'
import type { Contender } from './contenders.ts'
import { type Outcome, tally } from './outcome.ts'
import { COLUMN_MS, COLUMNS, timeline } from './timeline.ts'

const LABEL = 10
const COLUMNS_A_WINDOW = WINDOW_MS / COLUMN_MS

/** The seconds above the columns, one mark a window. */
export function axis(labelWidth: number = LABEL): string {
  let line = ''
  for (let column = 0; column < COLUMNS; column += COLUMNS_A_WINDOW)
    line = `${line.padEnd(column)}${(column * COLUMN_MS) / 1000}s`
  return ' '.repeat(labelWidth) + line
}

/** What arrived: the same for every contender. */
export function drawArrivals(outcomes: readonly Outcome[], terminal: Terminal): string[] {
  return row('arrived', timeline(outcomes).arrived, 'bold', terminal)
}

/** One contender's picture: what passed, what was refused, what waited, and what to see in it. */
export function draw(
  { title, code, lesson }: Contender,
  outcomes: readonly Outcome[],
  terminal: Terminal,
): string[] {
  const { passed, refused, waiting } = timeline(outcomes)
  const someWaited = waiting.some((count) => count > 0)
  return [
    `${terminal.bold(title.padEnd(17))}${terminal.paint('dim', code)}`,
    ...row('passed', passed, 'green', terminal),
    ...(someWaited ? row('waiting', waiting, 'yellow', terminal) : []),
    ...row('refused', refused, 'red', terminal),
    `${' '.repeat(LABEL)}${lesson}`,
  ]
}

/** A line a contender, to be drawn while the run is still on. */
export function drawLive(
  contenders: readonly Contender[],
  outcomes: readonly (readonly Outcome[])[],
  terminal: Terminal,
): string[] {
  const width = 15
  return [
    axis(width),
    ...contenders.flatMap(({ title }, index) =>
      row(title, timeline(outcomes[index] ?? []).passed, 'green', terminal, width),
    ),
  ]
}

/** The closing table. */
export function summary(
  contenders: readonly Contender[],
  outcomes: readonly (readonly Outcome[])[],
  terminal: Terminal,
): string[] {
  const most = `most in any ${WINDOW_MS / 1000} s`
  const rows = contenders.map(({ title }, index) => {
    const { passed, refused, fullest, longestWaitMs } = tally(outcomes[index] ?? [], WINDOW_MS)
    const wait = longestWaitMs > 0 ? `${(longestWaitMs / 1000).toFixed(1)} s` : '-'
    return tableLine([title, `${passed}`, `${refused}`, `${fullest.passed}`, wait])
  })
  return [terminal.bold(tableLine(['', 'passed', 'refused', most, 'longest wait'])), ...rows]
}

function tableLine(cells: readonly string[]): string {
  const widths = [15, 9, 10, 19, 15]
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(15) : cell.padStart(widths[index] ?? 0)))
    .join('')
}

function row(
  label: string,
  values: readonly number[],
  colour: Colour,
  terminal: Terminal,
  labelWidth: number = LABEL,
): string[] {
  const grid = (column: number) => (column % COLUMNS_A_WINDOW === 0 ? '┊' : ' ')
  const lines = bars(values, grid)
  return lines.map((line, index) => {
    const name = index === lines.length - 1 ? label : ''
    return name.padEnd(labelWidth) + paintBars(line, colour, terminal)
  })
}

function paintBars(line: string, colour: Colour, terminal: Terminal): string {
  const painted = line.replace(/[▁-█]+/g, (run) => terminal.paint(colour, run))
  return painted.replace(/┊/g, (mark) => terminal.paint('dim', mark)).trimEnd()
}
