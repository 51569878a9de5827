import { on } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Mishap } from '../act.ts'
import type { Expiry, Shop } from './shop.ts'

export const ORDERS = 12
const EVERY_MS = 60
const DELAY_MS = 500
const PAID = [3, 8]
const GIVE_UP_MS = 20_000

/** One that may go away in the middle of its work. */
export interface Vanishing {
  readonly number: number
  vanish(): Promise<void>
}

/** Places the orders, pays some in time, and takes a worker away. */
export class Play {
  readonly #shop: Shop
  readonly #queue: Expiry

  constructor(shop: Shop, queue: Expiry) {
    this.#shop = shop
    this.#queue = queue
  }

  async run(workers: readonly Vanishing[]): Promise<void> {
    this.#shop.open()
    const late = AbortSignal.timeout(GIVE_UP_MS)
    const over = this.#untilAllEnd(late)
    const gone = this.#takeAway(workers, late)
    for (let number = 1; number <= ORDERS; number += 1) {
      await this.#place(`order-${number}`)
      const due = PAID.find((paid) => paid === number - 2)
      if (due) await this.#pay(`order-${due}`)
      await sleep(EVERY_MS)
    }
    await Promise.all([over, gone]).catch(() => {
      throw new Mishap(`Not all orders came to an end within ${GIVE_UP_MS} ms.`)
    })
  }

  async #place(id: string): Promise<void> {
    this.#shop.place(id)
    await this.#queue.schedule(id, { order: id }, { delayMs: DELAY_MS })
  }

  async #pay(id: string): Promise<void> {
    this.#shop.pay(id)
    await this.#queue.cancel(id)
  }

  /** Whoever runs the fifth order, or one after it, in the middle of it. */
  async #takeAway(workers: readonly Vanishing[], signal: AbortSignal): Promise<void> {
    for await (const [order, number] of on(this.#shop.news, 'runs', { signal })) {
      if (this.#shop.orders.indexOf(order) < 4) continue
      this.#shop.lost(number)
      return workers.find((worker) => worker.number === number)?.vanish()
    }
  }

  async #untilAllEnd(signal: AbortSignal): Promise<void> {
    let left = ORDERS
    for await (const _order of on(this.#shop.news, 'ends', { signal })) {
      left -= 1
      if (left === 0) return
    }
  }
}
