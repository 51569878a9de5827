import { createDelayQueue } from '../../../src/index.ts'

// Nothing but the worker keeps this process alive until its task is due, and nothing when it is closed.
const queue = createDelayQueue({ name: 'queue' })
await queue.schedule('late', 0, { delayMs: 300 })
const worker = queue.work(({ id }) => {
  process.stdout.write(`ran ${id}\n`)
  void worker.close()
})
