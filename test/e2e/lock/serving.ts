import type { Backend } from '../idempotency/stores.ts'
import type { AppOptions, Framework, Guard, Locked } from './apps.ts'
import { watcher } from './stage.ts'

/** A handler under a lock of its test's own way, by default of the key `k`. */
export type Unguarded = Partial<Locked> & Pick<Locked, 'handler'>

/** An app with these routes on one store, and a look at the store. */
export async function serving(
  framework: Framework,
  backend: Backend,
  routes: AppOptions['routes'],
) {
  const { store, [Symbol.asyncDispose]: close } = backend.open()
  const onStore = Object.entries(routes).map(([path, locked]) => [
    path,
    { store, timeoutMs: 5000, ...locked },
  ])
  const app = await framework.serve({ routes: Object.fromEntries(onStore) })
  return {
    ...app,
    ...watcher(store),
    [Symbol.asyncDispose]: async () => {
      await app[Symbol.asyncDispose]()
      await close()
    },
  }
}

/** An app whose only route is locked, and a look at its store. */
export function servingOne(
  framework: Framework,
  backend: Backend,
  locked: Unguarded & { readonly guard: Guard },
) {
  return serving(framework, backend, { '/': { key: 'k', ...locked } })
}
