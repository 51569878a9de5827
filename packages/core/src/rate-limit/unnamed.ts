import type { Store } from '../store.ts'

/**
 * Two limiters without a name on one store share one quota: sometimes meant, more often a surprise. The
 * second one says so, once a store.
 */
export function warnOfSharedDefault({
  name,
  store,
}: {
  readonly name?: string | undefined
  readonly store?: Store | undefined
}): void {
  if (name !== undefined || !store) return
  const seen = unnamed.get(store) ?? 0
  unnamed.set(store, seen + 1)
  if (seen !== 1) return
  process.emitWarning(
    'Two rate limiters without a `name` use the same store, so they share one quota. Give each a name ' +
      "(the same one, where they are meant to share): rateLimit({ name: 'search', … })",
    { type: 'SluiceWarning', code: 'SLUICE_UNNAMED_LIMITERS' },
  )
}

const unnamed = new WeakMap<Store, number>()
