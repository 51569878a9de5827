import { type LockStore, type RedisClient, redisStore, type Store } from '@sluice/core'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { FlakyLink } from '../../support/flaky-link.ts'
import { RedisServer } from '../../support/redis-server.ts'

/** Independent masters, and processes that reach each of them over a link of their own. */
export class Masters implements AsyncDisposable {
  readonly servers: readonly RedisServer[]

  private constructor(servers: readonly RedisServer[]) {
    this.servers = servers
  }

  static async start(count: number): Promise<Masters> {
    const servers: RedisServer[] = []
    for (let index = 0; index < count; index++) servers.push(await RedisServer.start())
    return new Masters(servers)
  }

  /** As another process sees them; until the test's end. */
  async join(
    wrap: (client: Redis, index: number) => RedisClient = (client) => client,
  ): Promise<View> {
    const links: FlakyLink[] = []
    for (const { port } of this.servers) links.push(await FlakyLink.to(port))
    const clients = links.map((link) => new Redis(link.port, '127.0.0.1', { retryStrategy }))
    for (const client of clients) client.on('error', () => {})
    await Promise.all(clients.map((client) => client.ping()))
    const store = redisStore(clients.map(wrap))
    onTestFinished(async () => {
      await store.close()
      for (const client of clients) client.disconnect()
      for (const link of links) await link[Symbol.asyncDispose]()
    })
    return { store, lock: store.lock as LockStore, links, clients }
  }

  /** On how many masters somebody holds the lock, or more than that many when some cannot say. */
  async holders(key: string): Promise<number> {
    const found = await Promise.all(
      this.servers.map((server) => server.command('EXISTS', `sluice:lock:{${key}}`)),
    )
    return found.filter((exists) => exists === 1).length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.servers) await server[Symbol.asyncDispose]()
  }
}

/** The masters over links that can fail. */
export interface View {
  readonly store: Store
  readonly lock: LockStore
  readonly links: readonly FlakyLink[]
  readonly clients: readonly Redis[]
}

/** These masters are gone for this view: open connections break, new ones are refused. */
export function partition({ links }: View, ...masters: number[]): void {
  for (const index of masters) {
    links[index]?.refuse()
    links[index]?.cut()
  }
}

export async function heal({ links, clients }: View): Promise<void> {
  for (const link of links) {
    link.resume()
    link.delayReplies(0)
    await link.accept()
  }
  await Promise.all(clients.map((client) => client.ping()))
}

function retryStrategy(): number {
  return 50
}
