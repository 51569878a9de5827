import { createHash } from 'node:crypto'
import { type Channel, channel } from 'node:diagnostics_channel'
import type { DelayEvent } from './delay/event.ts'
import { ConfigurationError } from './errors.ts'
import type { IdempotencyEvent } from './idempotency/event.ts'
import type { LockEvent } from './lock/event.ts'
import type { Decision } from './rate-limit/decision.ts'

/** `sluice:rate-limit`: every decision of a `rateLimit()`, and whether it was acted on. */
export interface RateLimitEvent {
  readonly type: 'decision'
  /** The limiter's name. */
  readonly limiter: string
  /** The partition key, hashed by {@link hashKey}: keys are often addresses or user ids. */
  readonly keyHash: string
  readonly cost: number
  readonly decision: Decision
  /** False with `enforce: false`: the request went on, whatever was decided. */
  readonly enforced: boolean
}

/** `sluice:rate-limit`: a cost that could not be given back, since `refund` threw or the store failed. */
export interface RefundFailedEvent {
  readonly type: 'refund-failed'
  /** The limiter's name. */
  readonly limiter: string
  /** See {@link RateLimitEvent.keyHash}. */
  readonly keyHash: string
  readonly cost: number
  readonly error: unknown
}

/** `sluice:rate-limit`: addresses come from a header that nobody may trust as configured; once a process. */
export interface ProxyEvent {
  readonly type: 'untrusted-proxy'
  readonly reason: 'no-proxy-trusted' | 'every-hop-trusted'
}

/** What `sluice:store` carries. */
export type StoreEvent =
  | { readonly type: 'failure'; readonly operation: string; readonly error: unknown }
  | { readonly type: 'circuit-opened'; readonly failures: number }
  | { readonly type: 'circuit-closed'; readonly openMs: number }

/** `sluice:outbox`: what went wrong in a relay of `@sluice/postgres`; it goes on. */
export type OutboxEvent =
  /** An attempt to deliver. `dead`: it was the last one, and the message holds its aggregate back from now on. */
  | {
      readonly type: 'publish-failed'
      readonly id: string
      readonly attempt: number
      readonly dead: boolean
      readonly error: unknown
    }
  /** The database did not take what became of a message: it will be delivered again. */
  | { readonly type: 'delivery-not-noted'; readonly id: string; readonly attempt: number }
  /** The database could not be asked for messages. */
  | { readonly type: 'claim-failed'; readonly error: unknown }

/** The channels of `node:diagnostics_channel` and their payloads. */
export interface SluiceChannels {
  readonly 'sluice:rate-limit': RateLimitEvent | RefundFailedEvent | ProxyEvent
  readonly 'sluice:idempotency': IdempotencyEvent
  readonly 'sluice:lock': LockEvent
  readonly 'sluice:delay': DelayEvent
  readonly 'sluice:store': StoreEvent
  readonly 'sluice:outbox': OutboxEvent
}

/**
 * Listens to one of Sluice's diagnostics channels, with the payload's type. Returns the function that stops it.
 *
 * @throws ConfigurationError (`configuration`) for a channel that there is not.
 * @example
 * ```ts
 * import { subscribe } from '@sluice/core'
 * const stop = subscribe('sluice:store', (event) => {
 *   if (event.type === 'circuit-opened') console.error('Redis is gone')
 * })
 * stop()
 * ```
 */
export function subscribe<Name extends keyof SluiceChannels>(
  name: Name,
  listener: (event: SluiceChannels[Name]) => void,
): () => void {
  if (!Object.hasOwn(channels, name))
    throw new ConfigurationError('subscribe', 'channel', name, Object.keys(channels).join(' or '))
  const handler = (message: unknown) => listener(message as SluiceChannels[Name])
  channels[name].subscribe(handler)
  return () => void channels[name].unsubscribe(handler)
}

/** The form in which a partition key appears in events: the first 16 hex digits of its SHA-256. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16)
}

/** Publishes an event; its payload is only built when somebody listens. */
export function emit<Name extends keyof SluiceChannels>(
  name: Name,
  payload: () => SluiceChannels[Name],
): void {
  if (channels[name].hasSubscribers) channels[name].publish(payload())
}

const channels: { readonly [Name in keyof SluiceChannels]: Channel } = {
  'sluice:rate-limit': channel('sluice:rate-limit'),
  'sluice:idempotency': channel('sluice:idempotency'),
  'sluice:lock': channel('sluice:lock'),
  'sluice:delay': channel('sluice:delay'),
  'sluice:store': channel('sluice:store'),
  'sluice:outbox': channel('sluice:outbox'),
}
