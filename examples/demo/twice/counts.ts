import { Mishap } from '../act.ts'
import type { Count } from './drawing.ts'
import { COPIES, type Order } from './order.ts'

export function countOf({ name, copies }: Order, charges: number): Count {
  const got = { first: 0, replay: 0, running: 0, unknown: 0, nothing: 0 }
  for (const copy of copies) if (copy.got) got[copy.got] += 1
  return { order: name, got, charges }
}

/** Rejects numbers that break the promise: one execution, one answer, and nobody without any. */
export function check(orders: readonly Order[], counts: readonly Count[]): void {
  const problems = orders.flatMap((order, index) => {
    const count = counts[index]
    return count ? problemsOf(order, count) : []
  })
  if (problems.length > 0) throw new Mishap(`The counts are wrong:\n${problems.join('\n')}`)
}

function problemsOf({ name, copies }: Order, { got, charges }: Count): string[] {
  const answers = new Set(copies.flatMap(({ body = [] }) => body))
  const answered = Object.values(got).reduce((sum, count) => sum + count)
  return [
    ...(charges === 1 ? [] : [`${name}: charged ${charges} times`]),
    ...(answers.size === 1 ? [] : [`${name}: ${answers.size} different results`]),
    ...(answered === COPIES ? [] : [`${name}: ${answered} of ${COPIES} copies came to an end`]),
    ...(got.first + got.nothing === 1 ? [] : [`${name}: no single first response`]),
    ...(got.replay > 0 ? [] : [`${name}: no replay`]),
  ]
}
