import { setTimeout as sleep } from 'node:timers/promises'
import { commandsSent } from '../locks/commands.ts'
import type { Tasks } from './tasks.ts'

/** Until a worker has come to rest: what it sends when it starts is not what waiting costs. */
const SETTLE_MS = 1500

/** How many commands a second a worker costs that has nothing to do. What scripts call is not among them. */
export async function idle(tasks: Tasks, durationMs: number): Promise<number> {
  commandsSent()
  const worker = await tasks.worker(10, () => {})
  worker.start()
  await sleep(SETTLE_MS)
  const before = commandsSent()
  await sleep(durationMs)
  return (1000 * (commandsSent() - before)) / durationMs
}
