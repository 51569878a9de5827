import { createDelayQueue, type Store, type Worker } from '@sluice/express'
import type { Desk, Expiry } from './shop.ts'

/** Short, so that one need not wait long until the silence of a worker is noticed. */
const VISIBILITY_MS = 700

export function expiryQueue(store: Store): Expiry {
  return createDelayQueue({ name: 'order-expiry', store, visibilityMs: VISIBILITY_MS })
}

/** The handler under test: it may run twice for an order, which the desk bears. */
export function startWorker(queue: Expiry, desk: Desk, number: number): Worker {
  return queue.work(({ payload }) => desk.expire(payload.order, number), { concurrency: 2 })
}
