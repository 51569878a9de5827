import { rm } from 'node:fs/promises'
import { eventually } from '../../support/eventually.ts'
import { FlakyLink } from '../../support/flaky-link.ts'
import { RedisServer } from '../../support/redis-server.ts'

/** A way in which Redis fails until somebody mends it. */
export interface Outage {
  readonly name: string
  readonly args?: readonly string[]
  begin(at: Place): Promise<void>
  end(at: Place): Promise<void>
}

/** A server and the link over which clients reach it. */
export interface Place extends AsyncDisposable {
  readonly server: RedisServer
  readonly link: FlakyLink
}

export async function place({ args = [] }: Pick<Outage, 'args'> = {}): Promise<Place> {
  const server = await RedisServer.start(args)
  const link = await FlakyLink.to(server.port)
  return {
    server,
    link,
    async [Symbol.asyncDispose]() {
      await link[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

export const outages: readonly Outage[] = [
  {
    name: 'paused (SIGSTOP)',
    begin: async ({ server }) => server.pause(),
    end: async ({ server }) => server.resume(),
  },
  {
    name: 'silent behind a connection that stays open',
    begin: async ({ link }) => link.stall(),
    end: async ({ link }) => link.resume(),
  },
  {
    name: 'cut off',
    begin: async ({ link }) => {
      link.refuse()
      link.cut()
    },
    end: ({ link }) => link.accept(),
  },
  {
    name: 'killed, and later started empty',
    begin: async ({ server, link }) => {
      link.refuse()
      await server.kill()
    },
    end: async ({ server, link }) => {
      await server.restart()
      await link.accept()
    },
  },
  {
    name: 'loading its data',
    begin: async ({ server }) => {
      const fill = "for i = 1, 5000 do redis.call('SET', i, i, 'PX', 600000) end"
      await server.command('EVAL', fill, 0)
      await server.command('SAVE')
      const slowly = ['--key-load-delay', '300', '--loading-process-events-interval-bytes', '1024']
      await server.restart({ args: slowly, until: 'listening' })
    },
    end: async ({ server }) => {
      await server.command('CONFIG', 'SET', 'key-load-delay', 0)
      await eventually(() => server.command('PING'))
    },
  },
  {
    name: 'busy with a script that does not end',
    args: ['--busy-reply-threshold', '100'],
    begin: async ({ server }) => {
      server.command('EVAL', 'while true do end', 0).catch(() => {})
      await eventually(() => errorOf(server.command('PING'), 'BUSY'))
    },
    end: async ({ server }) => {
      await server.command('SCRIPT', 'KILL')
    },
  },
  {
    name: 'out of memory',
    begin: ({ server }) => set(server, 'maxmemory', '1'),
    end: ({ server }) => set(server, 'maxmemory', '0'),
  },
  {
    name: 'a read-only replica',
    begin: async ({ server }) => {
      await server.command('REPLICAOF', '127.0.0.1', 1)
    },
    end: async ({ server }) => {
      await server.command('REPLICAOF', 'NO', 'ONE')
    },
  },
  {
    name: 'a replica that serves no stale data',
    args: ['--replica-serve-stale-data', 'no'],
    begin: async ({ server }) => {
      await server.command('REPLICAOF', '127.0.0.1', 1)
    },
    end: async ({ server }) => {
      await server.command('REPLICAOF', 'NO', 'ONE')
    },
  },
  {
    name: 'without the replicas it must write to',
    begin: ({ server }) => set(server, 'min-replicas-to-write', '1'),
    end: ({ server }) => set(server, 'min-replicas-to-write', '0'),
  },
  {
    name: 'unable to save, and so refusing writes (MISCONF)',
    begin: async ({ server }) => {
      const [, folder] = (await server.command('CONFIG', 'GET', 'dir')) as [string, string]
      await rm(folder, { recursive: true })
      await set(server, 'save', '3600 1')
      await server.command('BGSAVE')
      await eventually(() => errorOf(server.command('SET', 'x', '1', 'PX', 1), 'MISCONF'))
    },
    end: ({ server }) => set(server, 'stop-writes-on-bgsave-error', 'no'),
  },
  {
    name: 'told to hold writes back (CLIENT PAUSE)',
    begin: async ({ server }) => {
      await server.command('CLIENT', 'PAUSE', 600_000, 'WRITE')
    },
    end: async ({ server }) => {
      await server.command('CLIENT', 'UNPAUSE')
    },
  },
]

async function set(server: RedisServer, name: string, value: string): Promise<void> {
  await server.command('CONFIG', 'SET', name, value)
}

async function errorOf(reply: Promise<unknown>, code: string): Promise<boolean> {
  const error = await reply.then(
    () => '',
    (reason: unknown) => String(reason),
  )
  return error.includes(code)
}
