import { type DelayStore, memoryStore, type Store } from '../../src/index.ts'

/** A memory store that counts as remote, and of which some methods do something else. */
export function distantStore(
  change: (real: DelayStore) => Partial<DelayStore> = () => ({}),
): Store {
  const store = memoryStore()
  const real = store.delay as DelayStore
  const changes: Partial<DelayStore> = { remote: true, ...change(real) }
  const delay = new Proxy(real, {
    get: (_, name: keyof DelayStore) => {
      const own = changes[name] ?? real[name]
      return typeof own === 'function' ? own.bind(real) : own
    },
  })
  return { rateLimit: store.rateLimit, delay, close: () => store.close() }
}

/** A promise, and what resolves it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
