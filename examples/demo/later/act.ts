import type { Express } from 'express'
import { type Act, Mishap, type SharedRedis, type Stage } from '../act.ts'
import { startServerProcess } from '../server-process.ts'
import { explainStoreFailure } from '../store-failure.ts'
import { draw, explanation, summary } from './drawing.ts'
import { ORDERS, Play, type Vanishing } from './play.ts'
import { Shop } from './shop.ts'
import { expiryQueue, startWorker } from './worker.ts'
import type { WorkerSettings } from './worker-process.ts'

const shop = new Shop()

/** Orders that are not paid in time expire, also those whose worker went away in the middle. */
export const later: Act = { title: 'later', mount, play, curls: () => [] }

function mount(app: Express): void {
  shop.mount(app)
}

async function play({ url, store, redis, terminal }: Stage): Promise<void> {
  const queue = expiryQueue(store)
  terminal.print([redis ? DIES : LEAVES, explanation(terminal), ''])
  const start = (number: number) => (redis ? processOf(number, redis, url) : here(number))
  const workers = await Promise.all([start(1), start(2)])
  const timer = setInterval(() => terminal.move(draw(shop.orders, shop.nowMs, terminal)), 40)
  try {
    await explainStoreFailure(() => new Play(shop, queue).run(workers))
  } finally {
    clearInterval(timer)
    await Promise.all(workers.map((worker) => worker.vanish()))
    terminal.move([])
  }
  terminal.print([...draw(shop.orders, shop.nowMs, terminal), '', summary(shop.orders)])
  check(await queue.stats())

  function here(number: number): Vanishing {
    const worker = startWorker(queue, shop, number)
    return { number, vanish: () => worker.close({ graceMs: 0 }) }
  }
}

const STORY = `Each of ${ORDERS} orders expires half a second after it was placed, unless it is paid.`
const DIES = `${STORY}
One of two workers is killed (SIGKILL) with tasks in its hands.`
const LEAVES = `${STORY}
One of two workers is shut down with tasks in its hands.`

async function processOf(number: number, redis: SharedRedis, shopUrl: string): Promise<Vanishing> {
  const settings: WorkerSettings = { redis, shopUrl, number }
  const child = await startServerProcess(new URL('worker-process.ts', import.meta.url), settings)
  return { number, vanish: () => child.kill() }
}

/** Rejects numbers that break the promise. */
function check(left: { scheduled: number; due: number; processing: number; dead: number }): void {
  const lost = shop.orders.filter(({ end }) => end === undefined).length
  const again = shop.orders.some(({ runs }) => runs.some(({ broken }) => broken))
  const tasks = left.scheduled + left.due + left.dead
  if (shop.orders.length !== ORDERS || lost > 0 || tasks > 0 || !again)
    throw new Mishap(`The counts are wrong: ${JSON.stringify({ left, orders: shop.orders })}`)
}
