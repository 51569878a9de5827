import { createRateLimiter, fixedWindow, redisStore, tokenBucket } from '@sluice/express'
import { Cluster, Redis } from 'ioredis'

const client = clientFrom(process.env)
if (!client) {
  console.log(`This example needs servers. Set one of
  REDIS_CLUSTER=127.0.0.1:7000,127.0.0.1:7001    some nodes of a Cluster
  REDIS_SENTINELS=127.0.0.1:26379 REDIS_MASTER=mymaster    sentinels, and the name they know the master by`)
  process.exit()
}
client.on('error', (error) => console.error(`Redis: ${error.message}`))

const limiter = createRateLimiter({
  name: 'api',
  store: redisStore(client), // the same line for every kind of client
  policy: [
    // Both live in one hash slot, so that a Cluster too decides them in one step.
    tokenBucket({ name: 'burst', capacity: 20, refill: 5, refillMs: 1000 }),
    fixedWindow({ name: 'daily', limit: 10_000, windowMs: 86_400_000 }),
  ],
})
for (const customer of ['ann', 'ben', 'cid']) {
  const { allowed, source } = await limiter.consume(customer)
  console.log(`${customer} allowed: ${allowed}, source: ${source}`)
}
client.disconnect()

function clientFrom(env: NodeJS.ProcessEnv): Redis | Cluster | undefined {
  const { REDIS_CLUSTER, REDIS_SENTINELS, REDIS_MASTER = 'mymaster' } = env
  if (REDIS_CLUSTER) return new Cluster(addresses(REDIS_CLUSTER))
  if (REDIS_SENTINELS)
    return new Redis({ sentinels: addresses(REDIS_SENTINELS), name: REDIS_MASTER })
  return undefined
}

function addresses(list: string): { host: string; port: number }[] {
  return list.split(',').map((address) => {
    const { hostname, port } = new URL(`redis://${address}`)
    return { host: hostname, port: Number(port) }
  })
}
