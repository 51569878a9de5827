import { createLocker, memoryStore } from '@sluice/core'

/** Has nothing to do but to wait: that alone must keep this process alive until the wait is over. */
const locker = createLocker({ store: memoryStore() })
await locker.acquire('k')
const waits = [
  locker.acquire('k', { waitMs: 300 }),
  createLocker({ store: memoryStore(), handOver: false }).acquire('other', { waitMs: 300 }),
  locker.acquire(['k', 'l'], { waitMs: 300 }),
]
for (const wait of await Promise.allSettled(waits))
  process.stdout.write(`${wait.status === 'rejected' ? wait.reason.code : 'acquired'}\n`)
