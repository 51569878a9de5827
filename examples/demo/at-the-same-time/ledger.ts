import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import express, { type Express } from 'express'

/** What the tills ask of the books. A payment goes by its number. */
export interface Books {
  /** Whether the order is paid. */
  look(payment: number): Promise<boolean>
  /** Whether the books take it: not from one whose fence is lower than that of an earlier writer. */
  write(payment: number, fence: number): Promise<boolean>
}

/** How long a look into the books takes. */
const LOOK_MS = 40

/** The books of one order: in a shop, a row of the database. */
export class Ledger implements Books {
  readonly news = new EventEmitter<{
    looked: [payment: number]
    wrote: [payment: number, fence: number, taken: boolean]
  }>()
  #lastFence = 0
  #paid = false
  #slow: number | undefined
  readonly #wake = new EventEmitter()

  async look(payment: number): Promise<boolean> {
    const paid = this.#paid
    this.news.emit('looked', payment)
    if (payment === this.#slow) await once(this.#wake, 'wake')
    else await sleep(LOOK_MS)
    return paid
  }

  async write(payment: number, fence: number): Promise<boolean> {
    // UPDATE orders SET paid = true, last_fence = $1 WHERE id = $2 AND last_fence < $1
    const taken = fence > this.#lastFence
    if (taken) {
      this.#lastFence = fence
      this.#paid = true
    }
    this.news.emit('wrote', payment, fence, taken)
    return taken
  }

  /** This payment's look ends when it is told to: where no process can be frozen, it sleeps. */
  delay(payment: number): () => void {
    this.#slow = payment
    return () => void this.#wake.emit('wake')
  }

  /** For tills in other processes. */
  mount(app: Express): void {
    app.post('/ledger/look', express.json(), async ({ body }, res) => {
      res.json(await this.look(body.payment))
    })
    app.post('/ledger/write', express.json(), async ({ body }, res) => {
      res.json(await this.write(body.payment, body.fence))
    })
  }
}

/** The same books, seen from another process. */
export function remoteBooks(url: string): Books {
  const ask = async (what: string, question: object): Promise<boolean> => {
    const headers = { 'Content-Type': 'application/json' }
    const body = JSON.stringify(question)
    const answer = await fetch(`${url}/ledger/${what}`, { method: 'POST', headers, body })
    return (await answer.json()) as boolean
  }
  return {
    look: (payment) => ask('look', { payment }),
    write: (payment, fence) => ask('write', { payment, fence }),
  }
}
