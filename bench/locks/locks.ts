import type { Redis } from 'ioredis'
import { loopOf } from '../library/loop.ts'
import { answer } from '../process/answer.ts'
import { block } from './block.ts'
import { contend } from './contend.ts'

/** A lock as its package gives it. */
export interface Locks<Lease> {
  acquire(key: string, waitMs: number): Promise<Lease>
  release(lease: Lease): Promise<unknown>
}

/** Lets the parent load a package in every way that is measured. */
export function serveLocks<Lease>(client: Redis, locks: Locks<Lease>): void {
  answer({
    run: loopOf({
      consume: async (key) => locks.release(await locks.acquire(key, 0)),
      allows: () => true,
    }),
    contend: (contention: Parameters<typeof contend>[2]) => contend(client, locks, contention),
    hold: async (key: string) => void (await locks.acquire(key, 0)),
    block: (blockade: Parameters<typeof block>[1]) => block(locks, blockade),
  })
}
