import { setTimeout as sleep } from 'node:timers/promises'
import { memoryStore, redisStore, type Store } from '@sluice/express'
import { Redis } from 'ioredis'
import { Mishap, type SharedRedis } from './act.ts'

export interface OpenedStore extends AsyncDisposable {
  readonly store: Store
  /** Where the limits are kept, in words. */
  readonly place: string
  /** How other processes get at it. */
  readonly redis?: SharedRedis
}

/** Redis when there is a URL, else this process's memory. */
export async function openStore(url: string | undefined): Promise<OpenedStore> {
  if (!url) {
    const store = memoryStore()
    return { store, place: 'in memory', [Symbol.asyncDispose]: () => store.close() }
  }
  const client = await connect(url)
  // Keys of this run's own: what an earlier run has spent is not to be seen in the pictures.
  const prefix = `sluice-demo-${process.pid}-${Date.now()}`
  const store = redisStore(client, { prefix })
  return {
    store,
    redis: { url, prefix },
    place: `in Redis at ${withoutPassword(url)}`,
    async [Symbol.asyncDispose]() {
      await store.close()
      client.disconnect()
    },
  }
}

/** An application lets the client try for ever; a demo had better say at once what is wrong. */
async function connect(url: string): Promise<Redis> {
  let connected = false
  let reason: Error | undefined
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => (connected ? 500 : null),
  })
  client.on('error', (error) => {
    reason = error // says more than the rejection does
  })
  try {
    await withinMs(5000, client.connect())
    connected = true
    return client
  } catch (error) {
    client.disconnect()
    throw new Mishap(
      `REDIS_URL is ${withoutPassword(url)}, but the Redis there cannot be used: ${(reason ?? (error as Error)).message}\n` +
        'Start one (redis-server --port 6379) and set REDIS_URL=redis://127.0.0.1:6379,\n' +
        'or unset REDIS_URL: the demo then keeps all in memory.',
    )
  }
}

async function withinMs(deadlineMs: number, work: Promise<void>): Promise<void> {
  const control = new AbortController()
  const late = sleep(deadlineMs, undefined, control).then(() => {
    throw new Error(`no answer within ${deadlineMs} ms`)
  })
  try {
    await Promise.race([work, late])
  } finally {
    control.abort()
  }
}

function withoutPassword(url: string): string {
  return url.replace(/:[^:@/]*@/, ':…@')
}
