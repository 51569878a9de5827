import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { FlakyLink } from '../../support/flaky-link.ts'
import { RedisServer } from '../../support/redis-server.ts'

describe('a flaky link', () => {
  /** A server, a link to it, and a client that resends nothing by itself. */
  async function linked() {
    const server = await RedisServer.start()
    const link = await FlakyLink.to(server.port)
    const client = new Redis({ port: link.port, maxRetriesPerRequest: 0, enableReadyCheck: false })
    client.on('error', () => {})
    await client.ping()
    return {
      server,
      link,
      client,
      async [Symbol.asyncDispose]() {
        client.disconnect()
        await link[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
    }
  }

  test('drops exactly one reply: the server has executed the command', async () => {
    await using to = await linked()
    const loss = to.link.dropReply(2, 'INCR')
    const calls = [to.client.incr('a'), to.client.incr('b'), to.client.incr('c')]
    const outcomes = await Promise.allSettled(calls)
    await loss.happened
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(await to.server.command('MGET', 'a', 'b', 'c')).toEqual(['1', '1', null])
    expect(await to.client.incr('c')).toBe(1)
  })

  test('drops exactly one request: the server has not seen it', async () => {
    await using to = await linked()
    const loss = to.link.dropRequest(2)
    const calls = [to.client.incr('a'), to.client.incr('b')]
    const outcomes = await Promise.allSettled(calls)
    await loss.happened
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(await to.server.command('MGET', 'a', 'b')).toEqual(['1', null])
    expect(await to.client.incr('b')).toBe(1)
  })

  test('delays exactly one request: the server sees it when its connection is gone', async () => {
    await using to = await linked()
    const delay = to.link.delayRequest(1000, 1, 'INCR')
    await expect(to.client.incr('a')).rejects.toThrow()
    await delay.happened
    expect(await to.server.command('GET', 'a')).toBeNull()
    await eventually(async () => (await to.server.command('GET', 'a')) === '1')
  })

  test('pairs requests with replies of every shape', async () => {
    await using to = await linked()
    await to.client.call('HELLO', 3).catch(() => {})
    const values = "return { 1, 'a\\r\\n+b', false, {}, { 2.5, { ok = 'x' } }, '' }"
    const loss = to.link.dropReply(1, 'INCR')
    const read = to.client.eval(values, 0)
    await expect(to.client.incr('a')).rejects.toThrow()
    await loss.happened
    expect(await read).toEqual([1, 'a\r\n+b', null, [], [2, 'x'], ''])
  })

  test('stalls replies and lets them come', async () => {
    await using to = await linked()
    to.link.stall()
    let reply: number | undefined
    const call = to.client.incr('a').then((value) => {
      reply = value
    })
    await eventually(async () => (await to.server.command('GET', 'a')) === '1')
    expect(reply).toBeUndefined()
    to.link.resume()
    await call
    expect(reply).toBe(1)
  })

  test('delays replies without changing their order', async () => {
    await using to = await linked()
    to.link.delayReplies(100)
    const start = performance.now()
    const order: string[] = []
    const slow = to.client.ping('slow').then((reply) => order.push(reply))
    await eventually(() => to.link.requests('PING') === 2)
    to.link.delayReplies(0)
    await Promise.all([slow, to.client.ping('fast').then((reply) => order.push(reply))])
    expect(order).toEqual(['slow', 'fast'])
    expect(performance.now() - start).toBeGreaterThan(95)
  })

  test('cuts open connections, and refuses and accepts new ones', async () => {
    await using to = await linked()
    to.link.refuse()
    to.link.cut()
    await eventually(() => to.client.status === 'reconnecting')
    await expect(to.client.ping()).rejects.toThrow()
    await to.link.accept()
    await eventually(() => to.client.ping())
    expect(to.link.connections).toBe(2)
  })

  test('leaves subscriptions alone', async () => {
    await using to = await linked()
    const messages: string[] = []
    to.client.on('message', (_channel, message) => messages.push(message))
    await to.client.subscribe('a', 'b')
    await to.server.command('PUBLISH', 'b', 'hello')
    await eventually(() => expect(messages).toEqual(['hello']))
  })
})
