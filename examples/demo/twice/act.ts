import type { Store } from '@sluice/express'
import type { Express } from 'express'
import type { Act, Stage } from '../act.ts'
import { explainStoreFailure } from '../store-failure.ts'
import type { Terminal } from '../terminal.ts'
import { Bank } from './bank.ts'
import { check, countOf } from './counts.ts'
import { draw, legend, summary } from './drawing.ts'
import { Operator } from './operator.ts'
import { COPIES, EVERY_MS, Order } from './order.ts'
import { answerBreaks, asUsual, type Cast, clientHangsUp, processDies } from './plays.ts'
import { openShop } from './shop.ts'
import { startVictim } from './victim.ts'

const bank = new Bank()

/** Each order arrives many times, and whatever goes wrong meanwhile, its card is charged once. */
export const twice: Act = { title: 'twice', mount, play, curls }

function mount(app: Express, store: Store): void {
  bank.mount(app)
  openShop(app, { store }, (order) => bank.charge(order))
}

async function play(stage: Stage): Promise<void> {
  const { url, store, redis, terminal } = stage
  using usual = new Order('order-1', 'Copies arrive while the first one runs, and after it.')
  using left = new Order('order-2', 'The client of the first copy hangs up half-way.')
  using broken = new Order('order-3', redis ? DIES : BREAKS)
  const orders = [usual, left, broken]
  terminal.print([
    `Each order is sent ${COPIES} times over real HTTP, always with the same key, a copy`,
    `every ${EVERY_MS} ms. One character is what one copy got:`,
    legend(terminal),
    '',
  ])
  const cast: Cast = { bank, operator: new Operator(store, bank), url }
  using victim = redis && (await startVictim({ redis, bankUrl: url, leaseMs: 700 }))
  await explainStoreFailure(() =>
    watched(orders, terminal, [
      asUsual(usual, cast),
      clientHangsUp(left, cast),
      victim ? processDies(broken, cast, victim) : answerBreaks(broken, cast),
    ]),
  )
  for (const order of orders) terminal.print([...draw(order, terminal), ''])
  if (!redis) terminal.print([WITHOUT_REDIS, ''])
  const counts = orders.map((order) => countOf(order, bank.receipts(order.name).length))
  terminal.print(summary(counts, terminal))
  check(orders, counts)
}

const DIES = 'The process that runs it is killed: charged, but nobody was told.'
const BREAKS = 'Its answer breaks off in the middle: charged, but nobody was told.'
const WITHOUT_REDIS = `Set REDIS_URL to see a process killed there: its memory would die with it.`

/** On a terminal one sees the pictures grow. */
async function watched(
  orders: readonly Order[],
  terminal: Terminal,
  plays: readonly Promise<void>[],
): Promise<void> {
  const show = () => terminal.move(orders.flatMap((order) => draw(order, terminal)))
  const timer = setInterval(show, EVERY_MS)
  try {
    await Promise.all(plays)
  } finally {
    clearInterval(timer)
    terminal.move([])
  }
}

function curls(url: string): readonly string[] {
  const send = (key: string, order: string) =>
    `curl -i ${url}/orders -H 'Idempotency-Key: ${key}' --json '{"order":"${order}"}'`
  return [
    `${send('mine', 'mine')}   # 3 s; again: replayed`,
    `${send('mine', 'other')}   # 422`,
    `seq 9 | xargs -P9 -I{} curl -s -o /dev/null -w '%{http_code} ' ${url}/orders -H 'Idempotency-Key: burst' --json '{"order":"burst"}'; echo   # one 200`,
  ]
}
