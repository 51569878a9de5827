import type { Locker } from '@sluice/core'
import { FarStore } from './far-store.ts'
import { memory } from './fresh.ts'

/** Another process with callers of its own. */
export function process(): { readonly store: FarStore; readonly locker: Locker } {
  const store = new FarStore(memory)
  return { store, locker: store.locker() }
}

/** Holds the key for so long as soon as it has it, and writes down who it is. */
export function hold(locker: Locker, name: string, log: string[], ms = 1): Promise<void> {
  return locker.using('k', { waitMs: 60_000 }, async () => {
    log.push(name)
    await new Promise((resolve) => setTimeout(resolve, ms))
  })
}

/** A locker of the same process whose leases last longer, or shorter. */
export function store({ store }: { readonly store: FarStore }, leaseMs = 10_000): Locker {
  return store.locker({ leaseMs })
}
