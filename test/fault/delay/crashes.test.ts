import { createDelayQueue, type DeadTask, type DelayQueue, hashKey, redisStore } from '@sluice/core'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { RedisServer } from '../../support/redis-server.ts'
import { Journal } from './journal.ts'
import { type Job, type Line, type Setup, WorkerProcess } from './worker-process.ts'

const MAX_ATTEMPTS = 5
const setup: Setup = {
  name: 'queue',
  visibilityMs: 1000,
  maxAttempts: MAX_ATTEMPTS,
  backoff: { baseMs: 20, maxMs: 200 },
  sweepMs: 300,
  concurrency: 5,
}

test.concurrent('D9: kills, standstills and restarts with AOF lose no task, and no stale ack is accepted', async () => {
  await using server = await RedisServer.start(['--appendonly', 'yes', '--appendfsync', 'always'])
  await using journal = await Journal.open()
  await using crew = await Crew.start(server.port, journal)
  using client = connect(server.port)
  const queue = createDelayQueue<Job>({ ...queueSetup(), store: redisStore(client.redis) })
  const jobs = new Map(Array.from({ length: 120 }, (_, index) => [`task ${index}`, jobOf(index)]))
  const scheduling = Array.from(jobs, ([id, job]) => scheduleSurely(queue, id, job))

  const faults = ['pause', 'kill', 'restart', 'pause', 'restart', 'kill'] as const
  for (const [index, fault] of faults.entries()) {
    await journal.until('run', 15 * (index + 1))
    if (fault === 'restart') await server.restart()
    else await crew[fault]()
  }
  const tries = new Map(await Promise.all(scheduling))
  await crew.allBack()
  await eventually(() => isSettled(queue), { withinMs: 30_000, everyMs: 100 })
  const dead = await eventually(() => queue.dead.list())
  expect(violations(jobs, tries, dead, await journal.read())).toEqual([])
})

test.concurrent('D6: a task that kills its worker runs exactly `maxAttempts` times, and is dead then', async () => {
  await using server = await RedisServer.start()
  await using journal = await Journal.open()
  using client = connect(server.port)
  const poisoned = { ...setup, maxAttempts: 2, visibilityMs: 500 }
  const queue = createDelayQueue<Job>({
    ...queueSetup(poisoned),
    timeoutMs: 10_000,
    store: redisStore(client.redis),
  })
  await queue.schedule('poison', { do: 'die' }, { delayMs: 0 })
  const start = () => WorkerProcess.start(server.port, journal, poisoned)
  const victims = await Promise.all([start(), start()])
  for (const [index, victim] of victims.entries()) {
    await victim.work().catch(() => {}) // it may not live to answer
    await journal.until('run', index + 1)
  }
  // It outlives its task: whatever is left, it would run.
  const ran: string[] = []
  const worker = queue.work(({ id }) => ran.push(id))
  await queue.schedule('healthy', { do: 'take', ms: 0 }, { delayMs: 0 })
  await eventually(async () => (await queue.stats()).dead === 1, { withinMs: 20_000 })
  await eventually(() => isSettled(queue))
  await worker.close()
  expect(ran).toEqual(['healthy'])
  expect((await journal.of('poison', 'run')).map(({ attempt }) => attempt)).toEqual([1, 2])
  expect(await queue.dead.list()).toEqual([
    {
      id: 'poison',
      payload: { do: 'die' },
      attempts: 2,
      error: { name: 'VisibilityExpired', message: expect.any(String) as string },
      dueAt: expect.any(Date) as Date,
      diedAt: expect.any(Date) as Date,
    },
  ])
})

/** Workers of which one or the other is gone or stands still for a while. */
class Crew implements AsyncDisposable {
  readonly #start: () => Promise<WorkerProcess>
  readonly #workers: WorkerProcess[] = []
  readonly #coming: Promise<void>[] = []
  #paused: WorkerProcess | undefined

  private constructor(start: () => Promise<WorkerProcess>) {
    this.#start = start
  }

  static async start(port: number, journal: Journal): Promise<Crew> {
    const crew = new Crew(() => WorkerProcess.start(port, journal, setup))
    await Promise.all([crew.#hire(), crew.#hire(), crew.#hire()])
    return crew
  }

  async kill(): Promise<void> {
    const [victim] = this.#workers.splice(Math.floor(Math.random() * this.#workers.length), 1)
    await victim?.kill()
    this.#coming.push(this.#hire())
  }

  /** The one that stood still before goes on. */
  async pause(): Promise<void> {
    this.#paused?.resume()
    this.#paused = this.#workers[Math.floor(Math.random() * this.#workers.length)]
    this.#paused?.pause()
  }

  async allBack(): Promise<void> {
    this.#paused?.resume()
    await Promise.all(this.#coming)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#coming)
    for (const worker of this.#workers) await worker.kill()
  }

  async #hire(): Promise<void> {
    const worker = await this.#start()
    this.#workers.push(worker)
    await worker.work()
  }
}

function jobOf(index: number): Job {
  return index % 10 === 9 ? { do: 'fail' } : { do: 'take', ms: (index * 7) % 60 }
}

/** As an application should: again, until the store says that it has it. Tells how often. */
async function scheduleSurely(
  queue: DelayQueue<Job>,
  id: string,
  job: Job,
): Promise<[id: string, tries: number]> {
  const delayMs = 1000 + Math.floor(Math.random() * 1500)
  let tries = 0
  const schedule = () => {
    tries++
    return queue.schedule(id, job, { delayMs })
  }
  await eventually(schedule, { withinMs: 30_000, everyMs: 100 })
  return [id, tries]
}

async function isSettled(queue: DelayQueue<Job>): Promise<boolean> {
  const { scheduled, due, processing } = await queue.stats()
  return scheduled + due + processing === 0
}

/** What no order of faults may bring about. */
function violations(
  jobs: ReadonlyMap<string, Job>,
  tries: ReadonlyMap<string, number>,
  dead: readonly DeadTask<Job>[],
  lines: readonly Line[],
): readonly string[] {
  const deaths = new Map(dead.map((task) => [task.id, task]))
  return Array.from(jobs).flatMap(([id, job]) => {
    const own = lines.filter(({ idHash }) => idHash === hashKey(id))
    const of = (type: Line['type']) => own.filter((line) => line.type === type)
    const runs = of('run').map(({ attempt }) => attempt)
    const accepted = of('ack').filter(({ found }) => found)
    const lastFence = Math.max(...own.map(({ fence }) => fence))
    const death = deaths.get(id)
    // One that was scheduled again may have been done before that: then it has two lives.
    const once = tries.get(id) === 1
    const wrong = {
      'was lost': !death && of('finished').length === 0,
      'ran an attempt twice': once && new Set(runs).size < runs.length,
      'ran too often': runs.some((attempt) => attempt > MAX_ATTEMPTS),
      'died too early': death !== undefined && death.attempts !== MAX_ATTEMPTS,
      'died and was acked': once && death !== undefined && accepted.length > 0,
      'was acked twice': once && accepted.length > 1,
      'was acked by a stale receipt': once && accepted.some(({ fence }) => fence < lastFence),
      'ended although it fails': job.do === 'fail' && !death,
    }
    return Object.entries(wrong).flatMap(([what, is]) => (is ? [`${id} ${what}`] : []))
  })
}

function connect(port: number): Disposable & { readonly redis: Redis } {
  const redis = new Redis(port, '127.0.0.1')
  redis.on('error', () => {})
  return { redis, [Symbol.dispose]: () => redis.disconnect() }
}

function queueSetup({ concurrency: _, ...options }: Setup = setup): Omit<Setup, 'concurrency'> {
  return options
}
