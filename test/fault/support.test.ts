import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import express4 from 'express4'
import { Cluster, Redis } from 'ioredis'
import Koa from 'koa'
import Koa2 from 'koa2'
import { describe, expect, test } from 'vitest'
import { Child } from '../support/child.ts'
import { eventually } from '../support/eventually.ts'
import { FlakyLink } from '../support/flaky-link.ts'
import { type App, Site } from '../support/http.ts'
import { RedisCluster } from '../support/redis-cluster.ts'
import { RedisSentinel } from '../support/redis-sentinel.ts'
import { RedisServer } from '../support/redis-server.ts'
import { relay } from '../support/relay.ts'

describe('a redis-server of the test', () => {
  test('restarts on its port, empty', async () => {
    await using server = await RedisServer.start()
    const { port, pid } = server
    await server.command('SET', 'key', 'value')
    await server.restart()
    expect(server.port).toBe(port)
    expect(server.pid).not.toBe(pid)
    expect(await server.command('GET', 'key')).toBeNull()
  })

  test('restarts with its data when it writes an append-only file', async () => {
    await using server = await RedisServer.start(['--appendonly', 'yes', '--appendfsync', 'always'])
    await server.command('SET', 'key', 'value')
    await server.restart()
    expect(await server.command('GET', 'key')).toBe('value')
  })

  test('can be caught while it loads its data', async () => {
    await using server = await RedisServer.start()
    await server.command('EVAL', "for i = 1, 20000 do redis.call('SET', i, i) end", 0)
    await server.command('SAVE')
    const slowly = ['--key-load-delay', '100', '--loading-process-events-interval-bytes', '1024']
    await server.restart({ args: slowly, until: 'listening' })
    await expect(server.command('GET', '1')).rejects.toThrow('LOADING')
  })

  test('stands still while paused', async () => {
    await using server = await RedisServer.start()
    server.pause()
    let answered = false
    const ping = server.command('PING').then(() => {
      answered = true
    })
    await expect(eventually(() => answered, { withinMs: 200 })).rejects.toThrow('still not so')
    server.resume()
    await ping
  })

  test('is gone after kill, stop and disposal', async () => {
    const killed = await RedisServer.start()
    const stopped = await RedisServer.start()
    const disposed = await RedisServer.start()
    await Promise.all([killed.kill(), stopped.stop(), disposed[Symbol.asyncDispose]()])
    for (const { pid } of [killed, stopped, disposed])
      expect(() => process.kill(pid, 0)).toThrow('ESRCH')
    await Promise.all([killed[Symbol.asyncDispose](), stopped[Symbol.asyncDispose]()])
  })

  test('does not outlive the process that started it', async () => {
    await using child = await Child.start(new URL('children/server.ts', import.meta.url))
    const pid = await child.ask<number>()
    expect(process.kill(pid, 0)).toBe(true)
    await child.kill()
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'))
  })

  test('says why it does not start', async () => {
    await expect(RedisServer.start(['--no-such-option', '1'])).rejects.toThrow('no-such-option')
  })
})

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

describe('sentinels', () => {
  test('promote the replica when the master dies, and clients find it', async () => {
    await using set = await RedisSentinel.start()
    await using client = disconnecting(new Redis({ name: set.name, sentinels: set.addresses }))
    await client.redis.set('before', '1')
    await eventually(async () => (await set.replica.command('GET', 'before')) === '1')
    const { port } = set.replica
    await set.failover()
    expect(set.master.port).toBe(port)
    await eventually(() => client.redis.set('after', '1'))
    expect(await set.master.command('MGET', 'before', 'after')).toEqual(['1', '1'])
  })

  test('take the dead master back as a replica', async () => {
    await using set = await RedisSentinel.start({ sentinels: 1 })
    await set.failover()
    await set.replica.restart()
    const role = async () => (await set.replica.command('ROLE')) as unknown[]
    await eventually(async () => (await role())[0] === 'slave', { withinMs: 20_000 })
  })
})

describe('a cluster', () => {
  test('serves every slot, and moves one step by step', async () => {
    await using cluster = await RedisCluster.start()
    await using client = disconnecting(new Cluster(cluster.addresses))
    const slot = await cluster.slotOf('{tag}:a')
    const from = await cluster.ownerOf(slot)
    const to = cluster.nodes.find((node) => node !== from) ?? from
    await client.redis.mset('{tag}:a', '1', '{tag}:b', '1')

    const migration = await cluster.migrateSlot(slot, from, to)
    expect(await from.command('GET', '{tag}:a')).toBe('1')
    await expect(from.command('GET', '{tag}:new')).rejects.toThrow(`ASK ${slot}`)
    expect(await client.redis.get('{tag}:new')).toBeNull()

    await migration.moveKeys()
    await expect(from.command('GET', '{tag}:a')).rejects.toThrow(`ASK ${slot}`)
    expect(await client.redis.incr('{tag}:a')).toBe(2)

    await migration.finish()
    await expect(from.command('GET', '{tag}:a')).rejects.toThrow(`MOVED ${slot}`)
    expect(await client.redis.incr('{tag}:a')).toBe(3)
    expect(await to.command('GET', '{tag}:b')).toBe('1')
    expect(await cluster.ownerOf(slot)).toBe(to)
  })
})

describe('a child process', () => {
  test('answers, with a wall clock of its own', async () => {
    const hourMs = 3_600_000
    await using child = await Child.start(new URL('children/clock.ts', import.meta.url), {
      args: ['x'],
      clockOffsetMs: -hourMs,
    })
    const clocks = await child.ask<Record<'date' | 'now' | 'monotonic' | 'fixed', number>>('clocks')
    for (const key of ['date', 'now'] as const)
      expect(clocks.monotonic - clocks[key]).toBeCloseTo(hourMs, -3)
    expect(clocks).toMatchObject({ fixed: 5, isDate: true, args: ['x'] })
  })

  test('passes on what it throws, and its own end', async () => {
    await using child = await Child.start(new URL('children/clock.ts', import.meta.url))
    await expect(child.ask('throw')).rejects.toThrow('TypeError: as asked')
    child.pause()
    const asked = child.ask('clocks')
    await child.kill()
    await expect(asked).rejects.toThrow('SIGKILL')
  })
})

describe('a site', () => {
  const apps: Record<string, App> = {
    'Express 4': express4().get('/', (req, res) => res.send(req.ip)),
    'Express 5': express().get('/', (req, res) => res.send(req.ip)),
    'Koa 2': new Koa2().use((ctx) => {
      ctx.body = ctx.ip
    }),
    'Koa 3': new Koa().use((ctx) => {
      ctx.body = ctx.ip
    }),
  }

  test.each(Object.entries(apps))('serves %s', async (_name, app) => {
    await using site = await Site.serve(app)
    const reply = await site.ask('/')
    expect(reply).toMatchObject({ status: 200, body: '127.0.0.1' })
    expect(reply.rawHeaders).toContain('Content-Length')
    await using dual = await Site.serve(app, { host: '::' })
    expect((await dual.ask('/')).body).toBe('::ffff:127.0.0.1')
  })

  test('serves a Unix socket, where callers have no address', async () => {
    const socketPath = join(await mkdtemp(join(tmpdir(), 'sluice-site-')), 'socket')
    await using site = await Site.serve((req, res) => res.end(typeof req.socket.remoteAddress), {
      socketPath,
    })
    expect((await site.ask('/')).body).toBe('undefined')
  })
})

describe('REDIS_URL', () => {
  test('may carry a user, a password and a database', async () => {
    await using server = await RedisServer.start()
    await server.command('ACL', 'SETUSER', 'tester', 'on', '>s/cret', '~*', '&*', '+@all')
    await server.command('ACL', 'SETUSER', 'default', 'off')
    const url = `redis://tester:${encodeURIComponent('s/cret')}@127.0.0.1:${server.port}/3`
    await using door = await relay(url)
    const client = new Redis(door.port)
    expect(await client.client('INFO')).toMatch(/ user=tester .*/)
    expect(await client.client('INFO')).toMatch(/ db=3 /)
    client.disconnect()
  })

  test('is refused in one sentence when it names no Redis', async () => {
    await using server = await RedisServer.start()
    await expect(relay('localhost:6379')).rejects.toThrow('must look like')
    await expect(relay(`redis://:wrong@127.0.0.1:${server.port}`)).rejects.toThrow('answer PING')
  })
})

/** Ends a client with its test. */
function disconnecting<T extends Redis | Cluster>(redis: T) {
  redis.on('error', () => {})
  return {
    redis,
    async [Symbol.asyncDispose]() {
      redis.disconnect()
    },
  }
}
