import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { commandsSent } from './commands.ts'
import type { Locks } from './locks.ts'

export interface Contention {
  readonly key: string
  readonly callers: number
  /** How long they go on; 0: each takes one turn. */
  readonly durationMs: number
  /** Whether to see that nobody is let in while somebody is in, which costs commands. */
  readonly watched: boolean
}

export interface Contended {
  /** The turns of each caller that ended in time. */
  readonly turns: readonly number[]
  /** Of all turns, those after the time too: who waited longest is among them. */
  readonly waitsMs: readonly number[]
  readonly failed: number
  readonly elapsedMs: number
  /** Sent by the clients of this process. */
  readonly commands: number
}

/** What it asks for is far beyond what anybody should wait. */
const WAIT_MS = 20_000
const WORK_MS = 1

/** Callers that take turns at one lock, each a millisecond of work long. */
export async function contend<Lease>(
  client: Redis,
  locks: Locks<Lease>,
  contention: Contention,
): Promise<Contended> {
  const { callers, durationMs } = contention
  const turns = Array.from({ length: callers }, () => 0)
  const waitsMs: number[] = []
  let failed = 0
  const before = commandsSent()
  const startedMs = performance.now()
  const inTime = () => performance.now() - startedMs < durationMs

  async function turn(caller: number): Promise<void> {
    const askedMs = performance.now()
    const lease = await locks.acquire(contention.key, WAIT_MS)
    waitsMs.push(performance.now() - askedMs)
    if (contention.watched) failed += await intrusions(client, contention.key)
    await sleep(WORK_MS)
    if (contention.watched) await client.decr(`inside:${contention.key}`)
    if (durationMs === 0 || inTime()) turns[caller] = (turns[caller] ?? 0) + 1
    await locks.release(lease)
  }

  async function caller(_: unknown, index: number): Promise<void> {
    do {
      await turn(index).catch(() => {
        failed += 1
      })
    } while (inTime())
  }

  await Promise.all(turns.map(caller))
  const elapsedMs = durationMs === 0 ? performance.now() - startedMs : durationMs
  return { turns, waitsMs, failed, elapsedMs, commands: commandsSent() - before }
}

async function intrusions(client: Redis, key: string): Promise<number> {
  return (await client.incr(`inside:${key}`)) - 1
}
