import { setTimeout as sleep } from 'node:timers/promises'
import {
  createIdempotency,
  type Idempotency,
  type IdempotencyRecord,
  type Store,
} from '@sluice/express'
import { Mishap } from '../act.ts'
import type { Bank } from './bank.ts'
import { answerOf } from './shop.ts'

/** Sees what is known of a key, and settles what nobody else can. */
export class Operator {
  readonly #idempotency: Idempotency
  readonly #bank: Bank

  constructor(store: Store, bank: Bank) {
    this.#idempotency = createIdempotency({ store })
    this.#bank = bank
  }

  async sees(order: string): Promise<IdempotencyRecord['state'] | undefined> {
    return (await this.#idempotency.inspect(order))?.state
  }

  async awaits(order: string, state: IdempotencyRecord['state']): Promise<void> {
    for (let look = 0; look < 250; look += 1) {
      if ((await this.sees(order)) === state) return
      await sleep(20)
    }
    throw new Mishap(`The record of ${order} did not become ${state} within 5 s.`)
  }

  /** Looks into the ledger: the card was charged, so this is the answer that its caller should have got. */
  async confirms(order: string): Promise<void> {
    const [receipt] = this.#bank.receipts(order)
    if (receipt === undefined) throw new Mishap(`The bank has no charge for ${order}.`)
    const body = answerOf(order, receipt)
    await this.#idempotency.confirm(order, {
      status: 200,
      headers: [['Content-Type', 'text/plain; charset=utf-8']],
      body,
    })
  }
}
