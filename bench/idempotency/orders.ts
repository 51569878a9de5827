import type { Handler } from '../process/answer.ts'

/** Results are remembered for so long, by every contender. */
export const TTL_MS = 3_600_000

let executions = 0

/** The work that all contenders protect: every execution has a number, so that no two results are equal. */
export function placeOrder(): Readonly<Record<string, unknown>> {
  executions += 1
  return { order: `order-${executions}`, status: 'charged', cents: 2500, currency: 'EUR' }
}

/** For the parent, to see whether what was measured was what should have been. */
export const tellExecutions: Readonly<Record<string, Handler>> = { executions: () => executions }
