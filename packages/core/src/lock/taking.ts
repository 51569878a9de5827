import { type Taken, tooLate, type Wait } from './caller.ts'
import { claimOrCleanUp, undoGrant } from './cleanup.ts'
import { isOver, timed } from './grant.ts'
import type { LockKeys } from './store.ts'

/** One attempt, which waits for nobody. */
export async function takeOnce(
  { port, claim, signal }: Pick<Wait, 'port' | 'claim' | 'signal'>,
  keys: LockKeys,
): Promise<Taken> {
  const startedAt = performance.now()
  const reply = await claimOrCleanUp(port, keys, claim, undefined, signal)
  if (reply.state === 'held') {
    signal?.throwIfAborted() // a store of this process answers all the same
    return { leftMs: reply.leftMs }
  }
  const grant = timed(claim, reply.fence, startedAt)
  if (!signal?.aborted && !isOver(grant)) return grant
  undoGrant(port, keys, claim)
  throw signal?.aborted ? signal.reason : tooLate()
}
