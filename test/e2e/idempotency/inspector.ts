import { createIdempotency, type Store } from '@sluice/express'

/** Tells the record of a key. */
export function inspector(store: Store) {
  const idempotency = createIdempotency({ store })
  return async (key = 'k') => (await idempotency.inspect(key))?.state
}
