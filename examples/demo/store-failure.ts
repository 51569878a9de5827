import { subscribe } from '@sluice/express'
import { Mishap } from './act.ts'

/** A route answers 503 when the store failed; what the store said is more useful. */
export async function explainStoreFailure(run: () => Promise<void>): Promise<void> {
  const reasons: unknown[] = []
  const stop = subscribe('sluice:store', (event) => {
    if (event.type === 'failure') reasons.push(event.error)
  })
  try {
    await run()
  } catch (error) {
    if (!(error instanceof Mishap) || reasons.length === 0) throw error
    throw new Mishap(
      `${error.message} The store failed while the demo ran:\n${explain(reasons[0])}\n` +
        'See to the Redis that REDIS_URL names, or unset it: the demo then keeps all in memory.',
    )
  } finally {
    stop()
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause ? `${error.message}: ${explain(error.cause)}` : error.message
}
