import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DelayQueue } from '@sluice/express'
import express, { type Express } from 'express'
import type { Order, Run } from './order.ts'

/** What is asked of the shop while a task runs. */
export interface Desk {
  /** Takes an order back, which takes a while; 'nothing to do' when it is paid or expired already. */
  expire(id: string, worker: number): Promise<'expired' | 'nothing to do'>
}

export type Expiry = DelayQueue<{ order: string }>

const TAKES_MS = 80

/** The orders, as the database of a shop would have them. */
export class Shop implements Desk {
  readonly orders: Order[] = []
  readonly news = new EventEmitter<{ runs: [order: Order, worker: number]; ends: [order: Order] }>()
  #startedAt = 0

  open(): void {
    this.#startedAt = performance.now()
  }

  get nowMs(): number {
    return performance.now() - this.#startedAt
  }

  place(id: string): void {
    this.orders.push({ id, placedMs: this.nowMs, runs: [] })
  }

  pay(id: string): boolean {
    return this.#end(id, 'paid')
  }

  async expire(id: string, worker: number): Promise<'expired' | 'nothing to do'> {
    const order = this.#find(id)
    if (!order || order.end) return 'nothing to do'
    const run: Run = { worker, fromMs: this.nowMs }
    order.runs.push(run)
    this.news.emit('runs', order, worker)
    await sleep(TAKES_MS)
    if (run.broken) return 'nothing to do' // whoever asked is gone, and so is what it was about to do
    run.toMs = this.nowMs
    return this.#end(id, 'expired') ? 'expired' : 'nothing to do'
  }

  /** The worker went away: what it was doing stays undone. */
  lost(worker: number): void {
    for (const run of this.orders.flatMap(({ runs }) => runs)) {
      if (run.worker !== worker || run.toMs !== undefined) continue
      run.broken = true
      run.toMs = this.nowMs
    }
  }

  /** For workers in other processes. */
  mount(app: Express): void {
    app.post('/expiry/:order', express.json(), async (req, res) => {
      res.json(await this.expire(req.params.order, req.body.worker))
    })
  }

  /** UPDATE orders SET status = … WHERE id = … AND status = 'open' */
  #end(id: string, end: 'paid' | 'expired'): boolean {
    const order = this.#find(id)
    if (!order || order.end) return false
    order.end = end
    order.endedMs = this.nowMs
    this.news.emit('ends', order)
    return true
  }

  #find(id: string): Order | undefined {
    return this.orders.find((order) => order.id === id)
  }
}

/** The same desk, seen from another process. */
export function remoteDesk(url: string): Desk {
  return {
    async expire(order, worker) {
      const answer = await fetch(`${url}/expiry/${order}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ worker }),
      })
      return (await answer.json()) as 'expired' | 'nothing to do'
    },
  }
}
