import { type Backoff, ConfigurationError } from '@sluice/core'
import {
  backoffOf,
  backoffRule,
  callback,
  checkOptions,
  duration,
  either,
  integer,
  type Rule,
  required,
  withDefaults,
} from '@sluice/core/store-kit'
import { batchSizeRule, DEFAULT_BATCH_SIZE, inBatches } from '../cleanup.ts'
import type { PostgresPool, Queryable } from '../pool.ts'
import { checkPool } from '../postgres-store.ts'
import { type SchemaOptions, schemaRule } from '../statements.ts'
import type { DeadMessage, NewMessage, OutboxMessage } from './message.ts'
import { PollingRelay, type Relay } from './relay.ts'
import { OutboxTable } from './table.ts'

/**
 * Delivers a message; what it rejects with is a failed attempt. `signal` is aborted when another relay may have the
 * message, or when its own closes.
 */
export type Publish = (message: OutboxMessage, signal: AbortSignal) => unknown

/** A delay queue, as far as an outbox uses it. */
export interface QueueLike {
  schedule(id: string, payload: OutboxMessage, when: { readonly delayMs: number }): Promise<unknown>
}

/** Options of {@link outbox}. */
export interface OutboxOptions extends SchemaOptions {
  /** Where messages go: a function, or a delay queue, whose task has the message's id and, as payload, the message. */
  readonly publish: Publish | QueueLike
  /** After so many failures a message is dead: an integer from 1 to 1000; default 10. */
  readonly maxAttempts?: number | undefined
  /** How long to wait between attempts; default doubling pauses of at most 1 s, 2 s, … 5 min, with full jitter. */
  readonly backoff?: Backoff | undefined
}

/** Options of a relay. */
export interface RelayOptions {
  /** Aggregates that are served at once: an integer from 1 to 1000; default 10. */
  readonly concurrency?: number | undefined
  /** How often an idle relay asks for messages, in milliseconds from 10; default 500. */
  readonly pollMs?: number | undefined
  /** After so long other relays deliver what a silent one has, in milliseconds from 100; default 30,000. */
  readonly leaseMs?: number | undefined
  /** A delivery that takes longer is given up, in milliseconds from 100; default 300,000. */
  readonly maxRunMs?: number | undefined
}

/** Messages that are committed with the changes they tell of, and delivered afterwards. Made by {@link outbox}. */
export interface Outbox {
  /**
   * Adds a message to the transaction of `client`; resolves with its id. Others who add for the same aggregate wait
   * until that transaction ends.
   *
   * @throws ConfigurationError (`configuration`) for what is no message; errors of the database.
   */
  add(client: Queryable, message: NewMessage): Promise<string>
  /** Begins to deliver, in this process; as many processes as you like may. @throws ConfigurationError (`configuration`) */
  relay(options?: RelayOptions): Relay
  /** Messages that were given up. Each holds back its aggregate until it is redriven or discarded. */
  readonly dead: {
    /** Oldest first. */
    list(): AsyncIterable<DeadMessage>
    /** Has it tried again at once, with its attempts back at zero. False if no such message is dead. */
    redrive(id: string): Promise<boolean>
    /** Removes it, and lets the rest of its aggregate go on. False if no such message is dead. */
    discard(id: string): Promise<boolean>
  }
  /** Removes messages that were delivered longer ago than `olderThanMs`, in small batches, and says how many. */
  cleanup(options: {
    readonly olderThanMs: number
    readonly batchSize?: number | undefined
  }): Promise<number>
}

/**
 * An outbox in the tables that {@link migrate} makes: at least once, in order for each aggregate. Receivers tell a
 * repeat by the message's `id`.
 *
 * @throws ConfigurationError (`configuration`) for what is no pool, or an option that is unknown or out of range.
 * @example
 * ```ts
 * import { outbox } from '@sluice/postgres'
 * import { Pool } from 'pg'
 *
 * const pool = new Pool({ connectionString: process.env['DATABASE_URL'] })
 * const mails = outbox(pool, {
 *   publish: ({ id, payload }) => fetch('https://mail.example', {
 *     method: 'POST',
 *     headers: { 'Idempotency-Key': `"${id}"` },
 *     body: JSON.stringify(payload),
 *   }),
 * })
 * const relay = mails.relay()
 * process.once('SIGTERM', () => relay.close())
 * ```
 */
export function outbox(pool: PostgresPool, options: OutboxOptions): Outbox {
  const checked = withDefaults(checkOptions('outbox', options, rules), defaults)
  checkPool('outbox', pool)
  const { publish, maxAttempts, schema } = checked
  const backoffMs = backoffOf('outbox', checked.backoff)
  const table = new OutboxTable(pool, schema)
  return {
    add: (client, message) => table.add(client, message),
    relay: (given = {}) => {
      const { leaseMs, maxRunMs, ...pace } = withDefaults(
        checkOptions('relay', given, relayRules),
        relayDefaults,
      )
      const lease = { leaseMs, maxRunMs }
      return new PollingRelay(
        { table, publish: publisher(publish), maxAttempts, backoffMs, ...lease },
        pace,
      )
    },
    dead: {
      list: () => table.dead(),
      redrive: async (id) => table.redrive(checkId('redrive', id)),
      discard: async (id) => table.discard(checkId('discard', id)),
    },
    cleanup: async (given) => {
      const { olderThanMs, batchSize } = withDefaults(
        checkOptions('cleanup', given, cleanupRules),
        { batchSize: DEFAULT_BATCH_SIZE },
      )
      return inBatches(batchSize, () => table.removeSome(batchSize, olderThanMs))
    },
  }
}

function publisher(publish: Publish | QueueLike): Publish {
  if (typeof publish === 'function') return publish
  return (message) => publish.schedule(message.id, message, { delayMs: 0 })
}

/** @throws ConfigurationError (`configuration`) */
function checkId(owner: string, id: unknown): string {
  if (typeof id === 'string' && /^\d{1,18}$/.test(id)) return id
  throw new ConfigurationError(owner, 'id', id, 'the id of a message, as dead.list() tells it')
}

const queue: Rule = {
  expected: 'a delay queue',
  accepts: (value) =>
    typeof value === 'object' &&
    value !== null &&
    typeof Reflect.get(value, 'schedule') === 'function',
}

const rules: Readonly<Record<keyof OutboxOptions, Rule>> = {
  schema: schemaRule,
  publish: required(either(callback, queue)),
  maxAttempts: integer(1, 1000),
  backoff: backoffRule,
}

const relayRules: Readonly<Record<keyof RelayOptions, Rule>> = {
  concurrency: integer(1, 1000),
  pollMs: duration(10),
  leaseMs: duration(100),
  maxRunMs: duration(100),
}

const cleanupRules = { olderThanMs: required(duration(0)), batchSize: batchSizeRule }

const defaults = { schema: 'sluice', maxAttempts: 10, backoff: {} as Backoff }

const relayDefaults = { concurrency: 10, pollMs: 500, leaseMs: 30_000, maxRunMs: 300_000 }
