import { EventEmitter, once } from 'node:events'
import { type IdempotencyStore, memoryStore, type Settlement, type Store } from '@sluice/express'

/** A memory store that settles nothing before it is told to. */
export interface SlowStore {
  readonly store: Store
  /** What was asked to be settled, in order. */
  readonly settlements: readonly Settlement['state'][]
  /** Resolves when the next settlement is asked for. */
  asked(): Promise<unknown>
  /** Settles what waits, and from now on everything at once. */
  go(): void
}

export function slowStore(): SlowStore {
  const inner = memoryStore()
  const events = new EventEmitter().setMaxListeners(0)
  const settlements: Settlement['state'][] = []
  let isOpen = false
  const idempotency = new Proxy(inner.idempotency as IdempotencyStore, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== 'settle') return value.bind(target)
      return async (...args: Parameters<typeof target.settle>) => {
        settlements.push(args[2].state)
        const gone = isOpen ? undefined : once(events, 'go')
        events.emit('asked')
        await gone
        return target.settle(...args)
      }
    },
  })
  return {
    store: { ...inner, idempotency },
    settlements,
    asked: () => once(events, 'asked'),
    go: () => {
      isOpen = true
      events.emit('go')
    },
  }
}
