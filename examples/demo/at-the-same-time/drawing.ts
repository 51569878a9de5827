import { lane, legend, type Sign } from '../lane.ts'
import type { Terminal } from '../terminal.ts'
import type { End, Payment } from './payment.ts'

const waits: Sign = ['·', 'yellow']
const holds: Sign = ['█', 'bold']
const frozen: Sign = ['░', 'red']
const ends: Readonly<Record<End, Sign>> = {
  paid: ['✓', 'green'],
  'found paid': ['=', 'dim'],
  late: ['✗', 'red'],
}

export function explanation(terminal: Terminal): string {
  const { late, ...others } = ends
  return legend({ waits, holds, frozen, ...others, 'late write refused': late }, terminal)
}

/** One line a payment: when it stood in line, held the lock, and how it ended. */
export function draw(payments: readonly Payment[], nowMs: number, terminal: Terminal): string[] {
  return payments.map(({ number, till, sentMs, end, ...payment }) => {
    const { endedMs = nowMs, heldMs = endedMs } = payment
    const frozenMs = Math.min(payment.frozenMs ?? endedMs, endedMs)
    const least = payment.heldMs === undefined ? 0 : 1
    const stretches = [
      { sign: waits, fromMs: sentMs, toMs: heldMs },
      { sign: holds, fromMs: heldMs, toMs: frozenMs, least },
      { sign: frozen, fromMs: frozenMs, toMs: endedMs },
    ]
    const label = `${`payment ${number}`.padEnd(11)}till ${till} `
    return lane(label, stretches, end && ends[end], nowMs, terminal)
  })
}

export function summary(payments: readonly Payment[]): string {
  const count = (end: End) => payments.filter((payment) => payment.end === end).length
  return (
    `${payments.length} payments of one order: ${count('paid')} paid, ` +
    `${count('found paid')} found it paid, ${count('late')} late write refused.`
  )
}
