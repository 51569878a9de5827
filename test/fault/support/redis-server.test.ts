import { Redis } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { Child } from '../../support/child.ts'
import { eventually } from '../../support/eventually.ts'
import { RedisServer } from '../../support/redis-server.ts'
import { relay } from '../../support/relay.ts'

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
