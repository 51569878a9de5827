import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'

export interface RedisServer {
  readonly port: number
  /** For preparation and measurement only; no contender shares it. */
  readonly control: Redis
  /** Processor time that the server has used so far, user and system. */
  cpuMs(): Promise<number>
  stop(): Promise<void>
}

export async function startRedis(): Promise<RedisServer> {
  const port = await freePort()
  const options = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'inherit'] })
  await ready(server, once(server, 'spawn'))
  const control = new Redis({ port, host: '127.0.0.1' })
  return {
    port,
    control,
    cpuMs: async () => {
      const info = await control.info('cpu')
      return 1000 * (field(info, 'used_cpu_user') + field(info, 'used_cpu_sys'))
    },
    stop: async () => {
      control.disconnect()
      if (server.exitCode !== null || server.signalCode !== null) return
      server.kill()
      await once(server, 'exit')
    },
  }
}

export function redisVersion(): string {
  return (
    execFileSync('redis-server', ['--version'], { encoding: 'utf8' }).match(/v=(\S+)/)?.[1] ?? '?'
  )
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

async function ready({ stdout }: ChildProcess, spawned: Promise<unknown>): Promise<void> {
  await spawned.catch((cause) => {
    throw new Error('the benchmarks need redis-server on the PATH', { cause })
  })
  if (stdout === null) throw new Error('redis-server has no output')
  for await (const chunk of on(stdout, 'data', { close: ['end'] }))
    if (String(chunk).includes('Ready to accept connections')) {
      stdout.resume()
      return
    }
  throw new Error('redis-server did not start')
}

function field(info: string, name: string): number {
  return Number(info.match(new RegExp(`^${name}:(.*)$`, 'm'))?.[1])
}
