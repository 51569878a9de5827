import type { Colour, Terminal } from '../terminal.ts'
import type { End, Payment } from './payment.ts'

const LABEL = 19
const COLUMNS = 56
/** At least this much in a column; more when the play took longer. */
const COLUMN_MS = 40

const SIGNS: Readonly<Record<'waits' | 'holds' | 'frozen' | End, readonly [string, Colour]>> = {
  waits: ['·', 'yellow'],
  holds: ['█', 'bold'],
  frozen: ['░', 'red'],
  paid: ['✓', 'green'],
  'found paid': ['=', 'dim'],
  late: ['✗', 'red'],
}

export function legend(terminal: Terminal): string {
  const words = { ...SIGNS, 'late write refused': SIGNS.late, late: undefined }
  return Object.entries(words)
    .flatMap(([word, sign]) => (sign ? [`${terminal.paint(sign[1], sign[0])} ${word}`] : []))
    .join('   ')
}

/** One line a payment: when it stood in line, held the lock, and how it ended. */
export function draw(payments: readonly Payment[], nowMs: number, terminal: Terminal): string[] {
  const columnMs = Math.max(COLUMN_MS, nowMs / COLUMNS)
  return payments.map((payment) => {
    const name = `payment ${payment.number}`.padEnd(11)
    return `${name}till ${payment.till}`.padEnd(LABEL) + line(payment, nowMs, columnMs, terminal)
  })
}

function line(payment: Payment, nowMs: number, columnMs: number, terminal: Terminal): string {
  const { sentMs, heldMs = nowMs, frozenMs = nowMs, endedMs = nowMs, end } = payment
  const column = (ms: number) => Math.floor(Math.min(ms, endedMs) / columnMs)
  const stretch = (what: keyof typeof SIGNS, fromMs: number, toMs: number, least = 0) => {
    const [sign, colour] = SIGNS[what]
    const length = Math.max(least, column(toMs) - column(fromMs))
    return length > 0 ? terminal.paint(colour, sign.repeat(length)) : ''
  }
  return [
    ' '.repeat(column(sentMs)),
    stretch('waits', sentMs, heldMs),
    payment.heldMs === undefined ? '' : stretch('holds', heldMs, frozenMs, 1),
    stretch('frozen', frozenMs, endedMs),
    end ? terminal.paint(SIGNS[end][1], SIGNS[end][0]) : '',
  ].join('')
}

export function summary(payments: readonly Payment[]): string {
  const count = (end: End) => payments.filter((payment) => payment.end === end).length
  return (
    `${payments.length} payments of one order: ${count('paid')} paid, ` +
    `${count('found paid')} found it paid, ${count('late')} late write refused.`
  )
}
