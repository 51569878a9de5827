import { openSync, writeSync } from 'node:fs'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { answerParent } from '../../../support/answer-parent.ts'
import type { HistoryEvent } from '../history.ts'
import { nowMs } from '../monotonic.ts'
import { packages } from '../packages/index.ts'
import type { PackageLease } from '../packages/lock-package.ts'
import { seeded } from '../random.ts'
import type { WriteRequest } from '../resource.ts'
import type { WorkerSettings } from '../worker.ts'

/**
 * Takes one lock again and again, and writes to the resource whatever became of the lease: that late writes do no harm
 * is for fences to see to. What it sees goes to a file at once, where a SIGKILL cannot take it back.
 */
const settings = JSON.parse(String(process.argv[2])) as WorkerSettings
const { name, key, leaseMs, renew, waitMs, workMs } = settings
// Some clients send again what got no reply, and some give up: then nobody knows what became of it.
const redis = new Redis({ ...settings.redis, ...(settings.givesUp && { maxRetriesPerRequest: 0 }) })
redis.on('error', () => {})
const locks = (await packages[settings.package].load())(redis, { leaseMs, renew })
const random = seeded(settings.seed)
const file = openSync(settings.file, 'a')
const resource = connect(settings.resourcePort, '127.0.0.1')
const answers: ((accepted: string) => void)[] = []
createInterface(resource).on('line', (line) => answers.shift()?.(line))
const leases = new Map<string, PackageLease>()
let calls = 0
let over = false

process.on('unhandledRejection', unhandled).on('uncaughtException', unhandled)
watchForPauses()

answerParent(async (order: 'work' | 'finish') => {
  if (order === 'finish') over = true
  else await Promise.all(Array.from({ length: settings.callers }, work))
})

async function work(): Promise<void> {
  while (!over) {
    const call = `${name}#${++calls}`
    log({ what: 'asked', atMs: nowMs(), call, key, process: name, waitMs })
    const lease = await locks.acquire(key, waitMs).catch((error: unknown) => {
      log({ what: 'told', atMs: nowMs(), call, why: locks.why(error) })
    })
    if (lease) await hold(call, lease)
    else await sleep(random() * 20)
  }
}

async function hold(call: string, lease: PackageLease): Promise<void> {
  // The time first: a pause between the two makes the lease look shorter, never longer.
  const atMs = nowMs()
  const { fence } = lease
  const untilMs = atMs + lease.remainingMs()
  log({ what: 'granted', atMs, call, key, process: name, fence, untilMs })
  leases.set(call, lease)
  await write({ call, key, fence, process: name, first: true })
  await sleep((0.5 + random()) * workMs)
  const laterMs = nowMs()
  log({ what: 'held', atMs: laterMs, call, untilMs: laterMs + lease.remainingMs() })
  await write({ call, key, fence, process: name, first: false })
  leases.delete(call)
  log({ what: 'releasing', atMs: nowMs(), call })
  const outcome = await lease.release().catch(String)
  log({ what: 'released', atMs: nowMs(), call, outcome })
}

async function write(request: WriteRequest): Promise<void> {
  const answered = new Promise((resolve) => answers.push(resolve))
  resource.write(`${JSON.stringify(request)}\n`)
  await answered
}

/** After a pause, a turn of the timers later, holders must have been told of the leases that ended in it. */
function watchForPauses(): void {
  let lastMs = nowMs()
  setInterval(() => {
    const pausedMs = nowMs() - lastMs
    lastMs = nowMs()
    if (pausedMs < leaseMs) return
    const ended = [...leases].filter(([, lease]) => lease.remainingMs() <= 0)
    setTimeout(() => {
      for (const [call, lease] of ended) tellOfWaking(call, lease)
    }, 5)
  }, 5)
}

function tellOfWaking(call: string, lease: PackageLease): void {
  const aborted = lease.aborted?.()
  if (aborted !== undefined) log({ what: 'woke', atMs: nowMs(), call, aborted })
}

function unhandled(error: unknown): void {
  log({ what: 'unhandled', atMs: nowMs(), process: name, error: String(error) })
}

function log(event: HistoryEvent): void {
  writeSync(file, `${JSON.stringify(event)}\n`)
}
