import type { GuardedPort } from '../resilience/guarded-port.ts'
import type { StoreTransaction } from './store.ts'

/** Begins a transaction; one that comes after the deadline is ended again, since nobody else would. */
export async function openTransaction(
  store: GuardedPort<'idempotency'>,
): Promise<StoreTransaction> {
  let late: Promise<StoreTransaction> | undefined
  try {
    return await store.ask('begin', (port) => {
      if (!port.begin) throw new TypeError('the store has no transactions')
      late = port.begin()
      return late
    })
  } catch (error) {
    late?.then((opened) => opened.rollback(false)).catch(() => {})
    throw error
  }
}
