import { randomUUID } from 'node:crypto'
import {
  createIdempotency,
  type Execution,
  type Idempotency,
  type RedisClient,
  redisStore,
} from '@sluice/core'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, inject } from 'vitest'

export const response = { status: 200, headers: [], body: 'done' }

/** Of the test that runs. */
export let prefix: string
export let direct: Redis

/** Gives each test of the file a prefix of its own. */
export function prefixEach(): void {
  beforeEach(() => {
    prefix = `test-${randomUUID()}`
  })
}

/** Connects the file to the server of the run. */
export function connect(): void {
  beforeAll(async () => {
    direct = new Redis(inject('redisPort'), '127.0.0.1')
    await direct.ping()
  })
  afterAll(() => {
    direct.disconnect()
  })
}

export function on(client: unknown): Idempotency {
  return createIdempotency({
    store: redisStore(client as RedisClient, { prefix }),
    timeoutMs: 10_000,
  })
}

export async function begin(
  idempotency: Idempotency,
  key: string,
  scope?: string,
): Promise<Execution> {
  const named = scope === undefined ? { key } : { key, scope }
  const begun = await idempotency.begin({ ...named, fingerprint: 'x' })
  if (begun.state !== 'started') throw new Error(`${key} is ${begun.state}`)
  return begun.execution
}

export async function unknownKeys(idempotency: Idempotency): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of idempotency.unknown()) keys.push(key)
  return keys
}
