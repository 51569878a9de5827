import type { ServerProcess } from '../server-process.ts'
import type { Bank } from './bank.ts'
import type { Operator } from './operator.ts'
import type { Order } from './order.ts'

export interface Cast {
  readonly bank: Bank
  readonly operator: Operator
  /** Where the shop listens. */
  readonly url: string
}

/** Copies come while the handler runs, and after. */
export async function asUsual(order: Order, { bank, url }: Cast): Promise<void> {
  const { charged, answer } = bank.direct(order.name)
  const first = order.send(url)
  await charged
  order.began()
  await order.crowd(19, url)
  answer()
  await first.done
  order.ended()
  await order.rest(url)
}

/** The client that was to get the first response is gone before it is complete. */
export async function clientHangsUp(order: Order, { bank, operator, url }: Cast): Promise<void> {
  const { charged, answer } = bank.direct(order.name)
  const first = order.send(url)
  await Promise.all([charged, first.half])
  order.began()
  await order.crowd(7, url)
  first.hangUp()
  order.note('copy 1 is cut off by its client; the handler goes on')
  await order.crowd(16, url)
  answer()
  await operator.awaits(order.name, 'completed')
  order.ended()
  await Promise.all([first.done, order.rest(url)])
}

/** The process dies between the charge and the answer. */
export async function processDies(order: Order, cast: Cast, victim: ServerProcess): Promise<void> {
  const { bank, operator, url } = cast
  const { charged } = bank.direct(order.name)
  const first = order.send(victim.url)
  await Promise.all([charged, first.half])
  order.began()
  await order.crowd(9, victim.url, url)
  await victim.kill()
  order.ended('SIGKILL')
  await first.done
  while ((await operator.sees(order.name)) === 'claimed') await order.crowd(1, url)
  await settle(order, cast)
}

/** Without a second process: the answer breaks in the middle, and nobody can say what it would have been. */
export async function answerBreaks(order: Order, cast: Cast): Promise<void> {
  const { bank, operator, url } = cast
  const { charged, loseAnswer } = bank.direct(order.name)
  const first = order.send(url)
  await Promise.all([charged, first.half])
  order.began()
  await order.crowd(16, url)
  loseAnswer()
  await Promise.all([first.done, operator.awaits(order.name, 'unknown')])
  order.ended('cut off')
  await settle(order, cast)
}

async function settle(order: Order, { operator, url }: Cast): Promise<void> {
  await order.crowd(10, url)
  await operator.confirms(order.name)
  order.note('operator: the bank has the charge, so confirm()')
  await order.rest(url)
}
