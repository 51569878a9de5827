import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Mishap } from '../act.ts'
import type { Ledger } from './ledger.ts'
import type { End, Payment } from './payment.ts'

const PAYMENTS = 20
const EVERY_MS = 10

/** How the first holder is put to sleep, if anything must be done for it, and woken. */
interface Freeze {
  now?(): void
  end(): void
}

/** Sends the payments, and keeps what the books see of them. */
export class Play {
  readonly payments: Payment[] = []
  readonly #ledger: Ledger
  readonly #tills: readonly string[]
  readonly #startedAt = performance.now()

  constructor(ledger: Ledger, tills: readonly string[]) {
    this.#ledger = ledger
    this.#tills = tills
    ledger.news.on('looked', (number) => this.#change(number, { heldMs: this.nowMs }))
    ledger.news.on('wrote', (number, fence) => this.#change(number, { fence }))
  }

  get nowMs(): number {
    return performance.now() - this.#startedAt
  }

  async run(freeze: Freeze): Promise<void> {
    const held = once(this.#ledger.news, 'looked')
    const first = this.#send(0)
    await held
    freeze.now?.()
    this.#change(1, { frozenMs: this.nowMs + EVERY_MS })
    const others: Promise<void>[] = []
    // A frozen till answers nobody: the others go to the others.
    const open = Math.max(1, this.#tills.length - 1)
    for (let index = 1; index < PAYMENTS; index += 1) {
      await sleep(EVERY_MS)
      others.push(this.#send(this.#tills.length - 1 - (index % open)))
    }
    await Promise.all(others)
    freeze.end()
    await first
  }

  async #send(till: number): Promise<void> {
    const payment: Payment = {
      number: this.payments.length + 1,
      till: till + 1,
      sentMs: this.nowMs,
    }
    this.payments.push(payment)
    const answer = await fetch(`${this.#tills[till]}/tills/orders/1/pay`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ payment: payment.number }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Mishap(`A payment was answered with ${answer.status}: ${text}`)
    this.#change(payment.number, { end: text as End, endedMs: this.nowMs })
  }

  #change(number: number, change: Partial<Payment>): void {
    const payment = this.payments[number - 1]
    if (payment) Object.assign(payment, change)
  }
}
