import { randomUUID } from 'node:crypto'
import { createIdempotency, redisStore, type UnknownPage } from '@sluice/core'
import { Redis } from 'ioredis'
import { describe, expect, inject, test } from 'vitest'
import {
  begin,
  connect,
  direct,
  on,
  prefix,
  prefixEach,
  response,
  unknownKeys,
} from './idempotency-on-redis.ts'

connect()
prefixEach()

test('I11: any number of unknown outcomes is listed, in pages that a call can carry', async () => {
  const store = redisStore(direct, { prefix })
  const keys = Array.from({ length: 2000 }, (_, index) => `lost-${index}`)
  const idempotency = createIdempotency({ store, timeoutMs: 10_000 })
  for (let at = 0; at < keys.length; at += 500)
    await Promise.all(
      keys.slice(at, at + 500).map(async (key) => (await begin(idempotency, key)).abandon()),
    )
  const pages: number[] = []
  const found: string[] = []
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page: UnknownPage | undefined = await store.idempotency?.unknown(from)
    pages.push(page?.records.length ?? 0)
    from = page?.next
  }
  for await (const { key } of idempotency.unknown()) found.push(key)
  expect(Math.max(...pages)).toBeLessThan(1000)
  expect(found.sort()).toEqual(keys.sort())
})

describe('what is in Redis', () => {
  test('I4: is named by scope and key inside one hash tag, and has a TTL in every state', async () => {
    const idempotency = on(direct)
    await begin(idempotency, 'claimed', 'shop')
    await (await begin(idempotency, 'completed', 'shop')).complete(response)
    await (await begin(idempotency, 'buried', 'shop')).bury()
    await (await begin(idempotency, 'abandoned', 'shop')).abandon()
    await (await begin(idempotency, 'released', 'shop')).release()
    await (await begin(idempotency, 'a {b}: *ü')).complete(response)
    await begin(idempotency, 'k'.repeat(255), 's'.repeat(500))
    const keys = await keysNow()
    for (const key of keys) {
      expect(key).toMatch(/^test-[\w-]+:idempotency:(open|\{[^{}*?: ]*:[^{}*?: ]+\})$/)
      expect(key.length).toBeLessThan(300)
      expect(await direct.pttl(key)).toBeGreaterThan(0)
    }
    expect(keys).toContain(`${prefix}:idempotency:{shop:completed}`)
  })

  test.each([
    ['small', '{"ok":true}'],
    ['bytes', Buffer.alloc(5200, 0xfe)],
  ])('takes at most 400 bytes more than the response’s own (%s)', async (_, body) => {
    const headers = [
      ['content-type', 'application/json'],
      ['location', '/orders/1'],
    ] as const
    const scope = randomUUID()
    const key = randomUUID()
    await (await begin(on(direct), key, scope)).complete({ status: 201, headers, body })
    const own = Buffer.byteLength(body) + headers.flat().join('').length
    const record = `${prefix}:idempotency:{${scope}:${key}}`
    // 5,200 and 5,600 bytes are the same to the allocator, which rounds up.
    await direct.set(`${prefix}:x`, Buffer.alloc(own))
    const floor = Number(await direct.memory('USAGE', `${prefix}:x`))
    expect((await direct.strlen(record)) + record.length - own).toBeLessThanOrEqual(400)
    expect(Number(await direct.memory('USAGE', record)) - floor).toBeLessThanOrEqual(400)
    expect(await direct.zcard(`${prefix}:idempotency:open`)).toBe(0)
  })

  test('holds neither fingerprint nor caller nor owner in the clear', async () => {
    const secret = 'a secret of the caller'
    await on(direct).begin({ key: 'k', fingerprint: secret, caller: secret })
    expect(await direct.get(`${prefix}:idempotency:{:k}`)).not.toContain('secret')
  })

  test('I11: is found and heard of by clients that prefix every key themselves', async () => {
    const prefixed = new Redis(inject('redisPort'), '127.0.0.1', { keyPrefix: `${prefix}:own:` })
    const idempotency = on(prefixed)
    await (await begin(idempotency, 'k')).abandon()
    expect(await unknownKeys(idempotency)).toEqual(['k'])
    const waiting = idempotency.begin({ key: 'k2', fingerprint: 'x', waitMs: 10_000 })
    expect((await waiting).state).toBe('started')
    prefixed.disconnect()
  })
})

async function keysNow(): Promise<string[]> {
  return direct.keys(`${prefix}:idempotency:*`)
}
