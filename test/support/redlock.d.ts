/** The package brings types, but its `exports` do not lead to them; this is the part that is used here. */
declare module 'redlock' {
  import type { Redis } from 'ioredis'

  interface Settings {
    readonly retryCount: number
    readonly retryDelay: number
    readonly retryJitter: number
  }

  export interface Lock {
    readonly expiration: number
    release(): Promise<unknown>
  }

  export default class Redlock {
    constructor(clients: Iterable<Redis>, settings?: Partial<Settings>)
    acquire(keys: string[], leaseMs: number, settings?: Partial<Settings>): Promise<Lock>
  }
}
