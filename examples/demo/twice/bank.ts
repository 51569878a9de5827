import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Express } from 'express'

/** How long the bank takes when nobody directs it. */
const TAKES_MS = 3000

/** What must happen once: its ledger tells how often a card was charged, whatever became of those who asked. */
export class Bank {
  readonly #ledger: string[] = []
  readonly #directed = new Set<string>()
  readonly #news = new EventEmitter()

  /** Charges at once, and says so later: `TAKES_MS`, or when it is told to. */
  async charge(order: string): Promise<string> {
    const receipt = `${this.#ledger.push(order)}`
    const answer = this.#directed.has(order)
      ? once(this.#news, `answer ${order}`)
      : sleep(TAKES_MS, undefined, { ref: false })
    this.#news.emit(`charged ${order}`)
    const [lost] = (await answer) ?? []
    if (lost) throw new Error('the answer of the bank was lost')
    return receipt
  }

  /** From now on this order's charge waits for a word. */
  direct(order: string): Direction {
    this.#directed.add(order)
    return {
      charged: once(this.#news, `charged ${order}`),
      answer: () => void this.#news.emit(`answer ${order}`),
      loseAnswer: () => void this.#news.emit(`answer ${order}`, true),
    }
  }

  /** The receipts of an order: more than one is one too many. */
  receipts(order: string): readonly string[] {
    return this.#ledger.flatMap((entry, index) => (entry === order ? [`${index + 1}`] : []))
  }

  /** For shops in other processes. */
  mount(app: Express): void {
    app.post('/bank/charges/:order', async (req, res) => {
      res.send(await this.charge(req.params.order))
    })
  }
}

export interface Direction {
  readonly charged: Promise<unknown>
  answer(): void
  /** The card stays charged; who asked gets an error. */
  loseAnswer(): void
}
