import { EventEmitter, once } from 'node:events'
import { type IdempotencyStore, memoryStore, type Settlement, type Store } from '@sluice/express'

/** A memory store that does not do one thing before it is told to. */
export interface SlowStore {
  readonly store: Store
  /** What was asked of it, in order. */
  readonly calls: readonly (keyof IdempotencyStore)[]
  /** What was asked to be settled, in order. */
  readonly settlements: readonly Settlement['state'][]
  /** Resolves when the slow thing is asked for. */
  asked(): Promise<unknown>
  /** Does what waits, and from now on everything at once. */
  go(): void
}

export function slowStore(slow: 'claim' | 'settle' = 'settle'): SlowStore {
  const inner = memoryStore()
  const events = new EventEmitter().setMaxListeners(0)
  const calls: (keyof IdempotencyStore)[] = []
  const settlements: Settlement['state'][] = []
  let isOpen = false
  const idempotency = new Proxy(inner.idempotency as IdempotencyStore, {
    get(target, name: keyof IdempotencyStore) {
      const value: unknown = target[name]
      if (typeof value !== 'function') return value
      if (name === 'watch') return value.bind(target)
      return async (...args: unknown[]) => {
        calls.push(name)
        if (name === 'settle') settlements.push((args[2] as Settlement).state)
        const gone = isOpen || name !== slow ? undefined : once(events, 'go')
        if (name === slow) events.emit('asked')
        await gone
        return Reflect.apply(value, target, args)
      }
    },
  })
  return {
    store: { ...inner, idempotency },
    calls,
    settlements,
    asked: () => once(events, 'asked'),
    go: () => {
      isOpen = true
      events.emit('go')
    },
  }
}
