import { createDelayQueue, redisStore, type Task } from '@sluice/core'
import { connect } from '../redis-client.ts'
import { Tally } from './tally.ts'
import { type Payload, serveTasks } from './tasks.ts'

const queue = createDelayQueue<Payload>({ name: 'orders', store: redisStore(await connect()) })
serveTasks({
  schedule: (id, payload, delayMs) => queue.schedule(id, payload, { delayMs }),
  worker: async (concurrency, run) => {
    const ran = new Tally()
    const handler = async ({ id, dueAt }: Task<Payload>) => {
      run({ id, dueAt: Number(dueAt) })
      ran.add()
    }
    let worker: ReturnType<typeof queue.work> | undefined
    return {
      start: () => {
        worker = queue.work(handler, { concurrency })
      },
      // A worker that is closed has told the store of every run.
      acknowledged: async (tasks) => {
        await ran.reaches(tasks)
        await worker?.close()
      },
      close: async () => worker?.close(),
    }
  },
})
