import { createDelayQueue } from '@sluice/core'

const PAYMENT_WINDOW_MS = 200 // in a shop, 15 * 60_000

type Order = { status: 'open' | 'paid' | 'expired' }
const orders = new Map<string, Order>()
let warehouseIsUp = true

// #region queue
const expiry = createDelayQueue<{ orderId: string }>({
  name: 'order-expiry', // with a `store`, for all processes
  maxAttempts: 2,
  backoff: { baseMs: 50, maxMs: 60_000 },
})

async function placeOrder(orderId: string): Promise<void> {
  orders.set(orderId, { status: 'open' })
  await expiry.schedule(orderId, { orderId }, { delayMs: PAYMENT_WINDOW_MS })
}

async function pay(orderId: string): Promise<'paid' | 'too late'> {
  await expiry.cancel(orderId) // false when it runs already: the order's own status decides
  return move(orderId, 'paid') ? 'paid' : 'too late'
}
// #endregion

// #region worker
const worker = expiry.work(
  async ({ payload: { orderId }, attempt }) => {
    // At least once: whoever runs this again finds the order expired, and does nothing.
    if (!move(orderId, 'expired')) return console.log(`${orderId}: nothing to do`)
    if (!warehouseIsUp) {
      orders.set(orderId, { status: 'open' })
      throw new Error(`the warehouse did not answer (attempt ${attempt})`)
    }
    console.log(`${orderId}: expired`)
  },
  { concurrency: 20 },
)
// #endregion

/** In a database: `UPDATE orders SET status = … WHERE id = … AND status = 'open'`. */
function move(orderId: string, status: 'paid' | 'expired'): boolean {
  const order = orders.get(orderId)
  if (order?.status !== 'open') return false
  order.status = status
  return true
}

async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 20))
}

await placeOrder('order-1')
await placeOrder('order-2')
console.log(`order-1: ${await pay('order-1')}`)
console.log(
  `placed again: ${await expiry.schedule('order-2', { orderId: 'order-2' }, { delayMs: 0 })}`,
)
await until(() => orders.get('order-2')?.status === 'expired')
console.log(`order-2: ${await pay('order-2')}`)

// #region dead
warehouseIsUp = false
await placeOrder('order-3')
await until(async () => (await expiry.stats()).dead === 1)
for (const { id, attempts, error } of await expiry.dead.list())
  console.log(`${id}: dead after ${attempts} attempts: ${error.message}`)

warehouseIsUp = true
await expiry.dead.redrive('order-3') // its attempts count from zero again
// #endregion
await until(() => orders.get('order-3')?.status === 'expired')

await worker.close()
console.log(await expiry.stats())
