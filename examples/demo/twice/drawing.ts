import type { Colour, Terminal } from '../terminal.ts'
import { COPIES, type Got, type Order } from './order.ts'

const LABEL = 12

const SIGNS: Readonly<Record<Got, { sign: string; colour: Colour; meaning: string }>> = {
  first: { sign: '1', colour: 'bold', meaning: 'first response' },
  replay: { sign: '=', colour: 'green', meaning: 'replay' },
  running: { sign: '·', colour: 'yellow', meaning: '409 running' },
  unknown: { sign: '?', colour: 'red', meaning: '409 outcome unknown' },
  nothing: { sign: 'x', colour: 'red', meaning: 'cut off' },
}

export function legend(terminal: Terminal): string {
  const entries = Object.values(SIGNS).map(
    ({ sign, colour, meaning }) => `${terminal.paint(colour, sign)} ${meaning}`,
  )
  return entries.join('   ')
}

/** One order: when its handler ran, and below it what each copy got that was sent meanwhile. */
export function draw(order: Order, terminal: Terminal): string[] {
  return [
    `${terminal.bold(order.name.padEnd(LABEL))}${order.story}`,
    'handler'.padEnd(LABEL) + run(order, terminal),
    'copies'.padEnd(LABEL) + order.copies.map(({ got }) => paint(got, terminal)).join(''),
    ...order.notes.map(({ at, text }) => ' '.repeat(LABEL) + pointer(at, text)),
  ]
}

function run({ ran, copies }: Order, terminal: Terminal): string {
  if (!ran) return ''
  const { from, to = copies.length, end } = ran
  const line = ' '.repeat(from) + '█'.repeat(Math.max(1, to - from))
  return end ? line + terminal.paint('red', ` ✗ ${end}`) : line
}

function paint(got: Got | undefined, terminal: Terminal): string {
  if (got === undefined) return ' '
  const { sign, colour } = SIGNS[got]
  return terminal.paint(colour, sign)
}

/** Points at the column of a moment, with its words on the side where there is room. */
function pointer(at: number, text: string): string {
  const right = `${' '.repeat(at)}▲ ${text}`
  return right.length <= 80 - LABEL ? right : `${text} ▲`.padStart(at + 1)
}

/** How often each answer was given, and the one number that counts. */
export interface Count {
  readonly order: string
  readonly got: Readonly<Record<Got, number>>
  readonly charges: number
}

export function summary(counts: readonly Count[], terminal: Terminal): string[] {
  const sum = (pick: (count: Count) => number) => counts.reduce((all, one) => all + pick(one), 0)
  return [
    terminal.bold(tableLine(['', 'first', 'replay', 'running', 'unknown', 'cut off', 'charges'])),
    ...counts.map(({ order, got, charges }) =>
      tableLine([order, got.first, got.replay, got.running, got.unknown, got.nothing, charges]),
    ),
    '',
    `${counts.length * COPIES} copies of ${counts.length} orders: ${sum(({ charges }) => charges)} charges, ` +
      `${sum(({ got }) => got.replay)} replays, ${sum(({ got }) => got.running + got.unknown)} times 409.`,
  ]
}

function tableLine(cells: readonly (string | number)[]): string {
  return cells
    .map((cell, index) => (index === 0 ? `${cell}`.padEnd(LABEL) : `${cell}`.padStart(10)))
    .join('')
}
