import { setTimeout as sleep } from 'node:timers/promises'
import { commandsSent } from './commands.ts'
import type { Locks } from './locks.ts'

export interface Blockade {
  readonly key: string
  readonly callers: number
  readonly durationMs: number
}

/** Until waiters have come to rest: what they send on arrival is not what waiting costs. */
const SETTLE_MS = 1500

/** How many commands a second it costs to wait for a lock that somebody else keeps. */
export async function block<Lease>(
  locks: Locks<Lease>,
  { key, callers, durationMs }: Blockade,
): Promise<number> {
  const waitMs = SETTLE_MS + durationMs + 60_000 // they wait on when the measuring ends
  let served = 0
  for (let caller = 0; caller < callers; caller += 1)
    locks.acquire(key, waitMs).then(
      () => {
        served += 1
      },
      () => {
        served += 1
      },
    )
  await sleep(SETTLE_MS)
  const before = commandsSent()
  await sleep(durationMs)
  if (served > 0) throw new Error(`${served} of ${callers} did not wait`)
  return (1000 * (commandsSent() - before)) / durationMs
}
