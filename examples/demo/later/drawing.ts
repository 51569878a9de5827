import { lane, legend, type Sign, type Stretch } from '../lane.ts'
import type { Terminal } from '../terminal.ts'
import type { Order } from './order.ts'

const waits: Sign = ['·', 'yellow']
const runs: Sign = ['█', 'bold']
const broken: Sign = ['x', 'red']
const ends: Readonly<Record<'paid' | 'expired', Sign>> = {
  paid: ['€', 'green'],
  expired: ['✓', 'green'],
}

export function explanation(terminal: Terminal): string {
  return legend({ waits, runs, 'worker gone': broken, ...ends }, terminal)
}

/** One line an order: when its task waited, and when it ran. */
export function draw(orders: readonly Order[], nowMs: number, terminal: Terminal): string[] {
  return orders.map((order) => {
    const label = order.id.padEnd(11) + workers(order).padEnd(8)
    return lane(label, stretches(order, nowMs), order.end && ends[order.end], nowMs, terminal)
  })
}

function workers({ runs: tried }: Order): string {
  return tried.length === 0 ? '' : `by ${tried.map(({ worker }) => worker).join(', ')}`
}

function stretches({ placedMs, runs: tried, endedMs }: Order, nowMs: number): Stretch[] {
  const drawn: Stretch[] = []
  let fromMs = placedMs
  for (const run of tried) {
    const toMs = run.toMs ?? nowMs
    drawn.push({ sign: waits, fromMs, toMs: run.fromMs })
    drawn.push({ sign: run.broken ? broken : runs, fromMs: run.fromMs, toMs, least: 1 })
    fromMs = toMs
  }
  return [...drawn, { sign: waits, fromMs, toMs: endedMs ?? nowMs }]
}

export function summary(orders: readonly Order[]): string {
  const count = (end: Order['end']) => orders.filter((order) => order.end === end).length
  const again = orders.filter(({ runs: tried }) => tried.some((run) => run.broken)).length
  return (
    `${orders.length} orders: ${count('paid')} paid in time, ${count('expired')} expired, ` +
    `${count(undefined)} lost; ${again} run again.`
  )
}
