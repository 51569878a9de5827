import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { connect } from '../redis-client.ts'
import { Tally } from './tally.ts'
import { type DueTask, serveTasks } from './tasks.ts'

// The bare loop, as one writes it by hand: it trusts the client's clock, asks all the time, and loses the tasks of a
// worker that dies.
const SCHEDULE = `
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
  return redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])`
const POLL_MS = 10

const client = (await connect()) as Redis & Commands
client.defineCommand('putTask', { numberOfKeys: 2, lua: SCHEDULE })

interface Commands {
  putTask(due: string, payloads: string, id: string, at: number, payload: string): Promise<number>
}

const due = '{orders}:due'
const payloads = '{orders}:payloads'

serveTasks({
  schedule: (id, payload, delayMs) =>
    client.putTask(due, payloads, id, Date.now() + delayMs, JSON.stringify(payload)),
  worker: async (concurrency, run) => {
    const done = new Tally()
    let open = true

    async function handle(task: DueTask): Promise<void> {
      JSON.parse((await client.hget(payloads, task.id)) ?? '')
      run(task)
      await client.hdel(payloads, task.id)
      done.add()
    }

    async function loop(): Promise<void> {
      while (open) {
        const tasks = await claim(concurrency)
        if (tasks.length === 0) await pause(POLL_MS)
        else await Promise.all(tasks.map(handle))
      }
    }

    let looping: Promise<void> | undefined
    return {
      start: () => {
        looping = loop()
      },
      acknowledged: (tasks) => done.reaches(tasks),
      close: async () => {
        open = false
        await looping
      },
    }
  },
})

/** Who removes a due task has it. */
async function claim(most: number): Promise<DueTask[]> {
  const ready = await client.zrangebyscore(due, '-inf', Date.now(), 'WITHSCORES', 'LIMIT', 0, most)
  const tasks: DueTask[] = []
  for (let at = 0; at < ready.length; at += 2)
    tasks.push({ id: ready[at] ?? '', dueAt: Number(ready[at + 1]) })
  const removed = await Promise.all(tasks.map(({ id }) => client.zrem(due, id)))
  return tasks.filter((_, index) => removed[index] === 1)
}
