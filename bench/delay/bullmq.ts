import { Queue, Worker } from 'bullmq'
import { readSettings } from '../settings.ts'
import { Tally } from './tally.ts'
import { type Payload, serveTasks } from './tasks.ts'

const server = { host: '127.0.0.1', port: readSettings().redisPort }
const queue = new Queue('orders', { connection: server })
await queue.waitUntilReady()

serveTasks({
  // Its own attempts and backoff would cost it bytes more: it has none here, where Sluice has its defaults.
  schedule: (jobId, payload, delay) => queue.add('expire', payload, { jobId, delay }),
  worker: async (concurrency, run) => {
    const completed = new Tally()
    const worker = new Worker<Payload>(
      queue.name,
      async ({ id = '', timestamp, opts: { delay = 0 } }) => run({ id, dueAt: timestamp + delay }),
      {
        connection: { ...server, maxRetriesPerRequest: null },
        concurrency,
        autorun: false,
        removeOnComplete: { count: 0 },
      },
    )
    worker.on('completed', completed.add)
    await worker.waitUntilReady()
    return {
      start: () => void worker.run(),
      acknowledged: (tasks) => completed.reaches(tasks),
      close: () => worker.close(),
    }
  },
})
