import { emit, Renewal, retryUntil } from '@sluice/core/store-kit'
import type { OutboxMessage } from './message.ts'
import type { OutboxTable } from './table.ts'

/** What a relay does with messages. */
export interface Carrier {
  readonly table: OutboxTable
  readonly publish: (message: OutboxMessage, signal: AbortSignal) => unknown
  readonly maxAttempts: number
  /** How long to wait after attempt 1, 2, … failed. */
  readonly backoffMs: (attempt: number) => number
  readonly leaseMs: number
  readonly maxRunMs: number
}

/** A message that a relay has claimed. */
export interface Claimed {
  readonly message: OutboxMessage
  readonly token: string
  /** Just before the claim was sent, by the monotonic clock. */
  readonly startedAt: number
}

/** Delivers a message, or notes that it could not be done; resolves with the next one of its aggregate, if claimed. */
export async function deliver(
  carrier: Carrier,
  claimed: Claimed,
  relay: { readonly signal: AbortSignal; goesOn(): boolean },
): Promise<Claimed | undefined> {
  const { message } = claimed
  if (message.attempt > carrier.maxAttempts) return fail(carrier, claimed, new RelayLost())
  const renewal = keep(carrier, claimed)
  const controller = new AbortController()
  const abort = ({ target }: Event) => controller.abort((target as AbortSignal).reason)
  const signals = [renewal.signal, relay.signal]
  for (const signal of signals) signal.addEventListener('abort', abort, { once: true })
  if (relay.signal.aborted) controller.abort(relay.signal.reason)
  try {
    await untilAborted(controller.signal, () => carrier.publish(message, controller.signal))
  } catch (error) {
    // Whoever stops waiting does not know what becomes of it: it stays claimed for as long as its lease lasts.
    return controller.signal.aborted ? undefined : await fail(carrier, claimed, error)
  } finally {
    renewal.stop()
    for (const signal of signals) signal.removeEventListener('abort', abort)
  }
  return note(carrier, claimed, renewal.endsAt, relay.goesOn())
}

/** It kept the aggregate to itself, and delivered nothing: its process died, or was stopped, each time. */
class RelayLost extends Error {
  override readonly name = 'RelayLost'

  constructor() {
    super('no relay that had the message lived to say what became of it')
  }
}

function keep({ table, leaseMs, maxRunMs }: Carrier, claimed: Claimed): Renewal {
  const { message, token, startedAt } = claimed
  const renew = () => table.extend(message, token, leaseMs)
  return new Renewal({ startedAt, leaseMs, maxRunMs, renew, onLost: () => {} })
}

function untilAborted(signal: AbortSignal, work: () => unknown): Promise<unknown> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    new Promise((begin) => begin(work())).then(resolve, reject)
  })
}

/** What was delivered and not noted is delivered again, so the database is asked for as long as nobody else has it. */
async function note(
  { table, leaseMs }: Carrier,
  { message, token }: Claimed,
  untilMs: number,
  next: boolean,
): Promise<Claimed | undefined> {
  const attempt = async () => {
    const startedAt = performance.now()
    return { startedAt, message: await table.deliver(message, token, leaseMs, next) }
  }
  const noted = await attempt().catch(() => retryUntil(untilMs, attempt))
  if (!noted) {
    const { id, attempt: number } = message
    emit('sluice:outbox', () => ({ type: 'delivery-not-noted', id, attempt: number }))
  }
  return noted?.message && { token, message: noted.message, startedAt: noted.startedAt }
}

async function fail(
  { table, maxAttempts, backoffMs, leaseMs }: Carrier,
  { message, token, startedAt }: Claimed,
  error: unknown,
): Promise<undefined> {
  const { id, attempt } = message
  const dead = attempt >= maxAttempts
  emit('sluice:outbox', () => ({ type: 'publish-failed', id, attempt, dead, error }))
  const dueInMs = dead ? 0 : backoffMs(attempt)
  const how = { error, dead, dueInMs, attempts: Math.min(attempt, maxAttempts) }
  const note = () => table.fail(message, token, how)
  await note().catch(() => retryUntil(startedAt + leaseMs, note))
}
