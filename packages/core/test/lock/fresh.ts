import { afterEach, beforeEach, vi } from 'vitest'
import type { MemoryLockStore } from '../../src/lock/memory-store.ts'
import { FarStore, server } from './far-store.ts'

export const LEASE_MS = 900

/** The server of the test that runs, and one process's view of it. */
export let memory: MemoryLockStore
export let store: FarStore

/** Gives each test of the file a server of its own, and time that stands still. */
export function startFresh(): void {
  beforeEach(() => {
    vi.useFakeTimers()
    memory = server()
    store = new FarStore(memory)
  })
  afterEach(() => {
    vi.useRealTimers()
  })
}

export const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
