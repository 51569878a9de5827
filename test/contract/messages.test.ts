import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { redisPort } from '../../packages/core/src/redis/client.ts'
import { Messages } from '../../packages/core/src/redis/messages.ts'
import { eventually } from '../support/eventually.ts'

const port = inject('redisPort')
const ioredis = new Redis(port, '127.0.0.1')
const nodeRedis = createClient({ socket: { host: '127.0.0.1', port } })
beforeAll(async () => {
  await nodeRedis.connect()
})
afterAll(() => {
  ioredis.disconnect()
  nodeRedis.destroy()
})

describe.each([
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
] as const)('messages over %s', (_, client) => {
  let messages: Messages
  beforeAll(() => {
    messages = new Messages(redisPort(client))
    return () => messages.close()
  })

  test('reach who listens, and nobody who does no more', async () => {
    const channel = randomUUID()
    const heard: string[] = []
    const one = messages.listen(channel, (message) => heard.push(`one ${message}`))
    const two = messages.listen(channel, (message) => heard.push(`two ${message}`))
    await Promise.all([one.ready, two.ready])
    expect(await ioredis.publish(channel, 'a')).toBe(1)
    await eventually(() => heard.length === 2)
    one.close()
    expect(await ioredis.publish(channel, 'b')).toBe(1)
    await eventually(() => heard.length === 3)
    expect(heard).toEqual(['one a', 'two a', 'two b'])
    two.close()
    await eventually(async () => (await ioredis.publish(channel, 'c')) === 0)
  })

  test('reach who listens again at once after it left', async () => {
    const channel = randomUUID()
    let heard = 0
    for (let round = 1; round <= 20; round++) {
      const listening = messages.listen(channel, () => heard++)
      await listening.ready
      expect(await ioredis.publish(channel, 'a')).toBe(1)
      await eventually(() => heard === round)
      listening.close()
    }
  })

  test('reach nobody who left before it could listen', async () => {
    const channel = randomUUID()
    messages.listen(channel, () => {}).close()
    const again = messages.listen(channel, () => {})
    again.close()
    await again.ready
    await eventually(async () => (await ioredis.publish(channel, 'a')) === 0)
  })
})
