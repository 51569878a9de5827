import type { Store } from '@sluice/express'
import type { Express } from 'express'
import { type Act, Mishap, type SharedRedis, type Stage } from '../act.ts'
import { type ServerProcess, startServerProcess } from '../server-process.ts'
import { explainStoreFailure } from '../store-failure.ts'
import { draw, explanation, summary } from './drawing.ts'
import { Ledger } from './ledger.ts'
import type { End } from './payment.ts'
import { Play } from './play.ts'
import { openTill } from './till.ts'
import type { TillSettings } from './till-process.ts'

const LEASE_MS = 600
const WAIT_MS = 20_000
const TILLS = 3

const ledger = new Ledger()

/** Many payments of one order at once; whoever holds the lock when it freezes comes too late, and is refused. */
export const atTheSameTime: Act = { title: 'at the same time', mount, play, curls }

function mount(app: Express, store: Store): void {
  ledger.mount(app)
  // No renewal: where no process can be frozen, a handler that sleeps stands for one.
  openTill(app, { store, leaseMs: LEASE_MS, waitMs: WAIT_MS, renew: false }, ledger)
}

async function play(stage: Stage): Promise<void> {
  const { url, redis, terminal } = stage
  terminal.print([redis ? FREEZES : SLEEPS, explanation(terminal), ''])
  const tills = redis ? await startTills(redis, url) : []
  try {
    const played = new Play(ledger, tills.length > 0 ? tills.map((till) => till.url) : [url])
    const [first] = tills
    const freeze = first ? { now: first.freeze, end: first.wake } : { end: ledger.delay(1) }
    const timer = setInterval(
      () => terminal.move(draw(played.payments, played.nowMs, terminal)),
      40,
    )
    try {
      await explainStoreFailure(() => played.run(freeze))
    } finally {
      clearInterval(timer)
      terminal.move([])
    }
    terminal.print([...draw(played.payments, played.nowMs, terminal), '', summary(played.payments)])
    check(played)
  } finally {
    for (const till of tills) till[Symbol.dispose]()
  }
}

const FREEZES = `Twenty payments of one order at ${TILLS} processes, under a lock. The first to hold it
is frozen (SIGSTOP) past its lease of ${LEASE_MS} ms, and then writes all the same.`
const SLEEPS = `Twenty payments of one order, under a lock. The first to hold it sleeps past its
lease of ${LEASE_MS} ms, and then writes all the same.
Set REDIS_URL to see processes, one of them frozen.`

function startTills(redis: SharedRedis, ledgerUrl: string): Promise<ServerProcess[]> {
  const settings: TillSettings = { redis, ledgerUrl, leaseMs: LEASE_MS, waitMs: WAIT_MS }
  const program = new URL('till-process.ts', import.meta.url)
  return Promise.all(Array.from({ length: TILLS }, () => startServerProcess(program, settings)))
}

/** Rejects numbers that break the promise. */
function check({ payments }: Play): void {
  const count = (end: End) => payments.filter((payment) => payment.end === end).length
  if (count('paid') !== 1 || count('late') !== 1 || payments.some(({ end }) => !end))
    throw new Mishap(`The counts are wrong: ${JSON.stringify(payments)}`)
}

function curls(url: string): readonly string[] {
  const pay = `curl -s ${url}/tills/orders/7/pay --json '{"payment":7}'`
  return [`seq 9 | xargs -P9 -I{} ${pay}   # one at a time, by the lock`]
}
