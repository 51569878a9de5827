// #region consume
import { type Begun, createIdempotency, type Execution, StoreUnavailableError } from '@sluice/core'

// #endregion
const mailServer = { isUp: true, sent: [] as string[] }

// #region consume
interface Message {
  readonly id: string
  readonly body: string
}

const idempotency = createIdempotency({ leaseMs: 10_000 }) // with a `store`, for all consumers

/** What the broker is told: `done` deletes the message, `later` delivers it again, `park` is for a human. */
async function consume({ id, body }: Message): Promise<'done' | 'later' | 'park'> {
  let begun: Begun
  try {
    begun = await idempotency.begin({ key: id, scope: 'mails', fingerprint: body })
  } catch (error) {
    if (error instanceof StoreUnavailableError) return 'later' // nothing was run
    throw error
  }
  switch (begun.state) {
    case 'started':
      return run(begun.execution, body)
    case 'replay':
    case 'tombstone':
      return 'done' // delivered twice
    case 'in-progress':
      return 'later' // not before begun.retryAfterMs
    default:
      return 'park' // unknown: see the reconciliation job; mismatch: another message with this id
  }
}
// #endregion

// #region run
async function run(execution: Execution, body: string): Promise<'done' | 'later' | 'park'> {
  if (!mailServer.isUp) {
    await execution.release().catch(() => {}) // nothing happened: the next delivery may run
    return 'later'
  }
  try {
    await send(body, execution.signal) // stop when it aborts: the key may be somebody else's
  } catch {
    await execution.abandon().catch(() => {}) // perhaps it was sent: unknown, at once
    return 'park'
  }
  // When the store is away now, the mail is sent all the same; completing goes on in the background.
  await execution.complete({ status: 200, headers: [], body: 'sent' }).catch(() => {})
  return 'done'
}
// #endregion

async function send(body: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (body === 'no answer') throw new Error('the mail server did not answer')
  mailServer.sent.push(body)
}

const mail = { id: 'm-1', body: 'Your order 7 is on its way' }
console.log(await Promise.all([consume(mail), consume(mail)]))
console.log(await consume(mail))
console.log(await consume({ ...mail, body: 'Your order 8 is on its way' }))
console.log(await consume({ id: 'm-2', body: 'no answer' }))
console.log(await consume({ id: 'm-2', body: 'no answer' }))

mailServer.isUp = false
console.log(await consume({ id: 'm-3', body: 'Your order 9 is on its way' }))
mailServer.isUp = true
console.log(await consume({ id: 'm-3', body: 'Your order 9 is on its way' }))
console.log(`${mailServer.sent.length} mails sent`)
