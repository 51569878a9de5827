import type { SharedRedis } from '../act.ts'
import { type ServerProcess, startServerProcess } from '../server-process.ts'

/** What the process is told at its start. */
export interface Settings {
  readonly redis: SharedRedis
  readonly bankUrl: string
  /** Short, so that one need not wait long until its silence is noticed. */
  readonly leaseMs: number
}

/** A second process with the same shop on the same Redis. */
export function startVictim(settings: Settings): Promise<ServerProcess> {
  return startServerProcess(new URL('shop-process.ts', import.meta.url), settings)
}
