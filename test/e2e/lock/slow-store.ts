import { EventEmitter, once } from 'node:events'
import { type LockStore, memoryStore, type Store } from '@sluice/express'

/** A memory store that grants nothing before it is told to. */
export interface SlowStore {
  readonly store: Store
  /** Resolves when a lock is asked for. */
  asked(): Promise<unknown>
  /** Does what waits, and from now on everything at once; resolves when it is done. */
  go(): Promise<unknown>
}

export function slowStore(): SlowStore {
  const inner = memoryStore()
  const events = new EventEmitter()
  let isOpen = false
  const lock = new Proxy(inner.lock as LockStore, {
    get(target, name: keyof LockStore) {
      const value: unknown = target[name]
      if (typeof value !== 'function') return value
      if (name !== 'acquire') return value.bind(target)
      return async (...args: unknown[]) => {
        const gone = isOpen ? undefined : once(events, 'go')
        events.emit('asked')
        await gone
        const granted: unknown = await Reflect.apply(value, target, args)
        events.emit('granted')
        return granted
      }
    },
  })
  return {
    store: { ...inner, lock },
    asked: () => once(events, 'asked'),
    go: () => {
      const granted = once(events, 'granted')
      isOpen = true
      events.emit('go')
      return granted
    },
  }
}
