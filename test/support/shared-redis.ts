import type { TestProject } from 'vitest/node'
import { RedisServer } from './redis-server.ts'
import { relay } from './relay.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The port on 127.0.0.1 of the server that all tests of the run share. */
    redisPort: number
  }
}

/** One Redis for the whole run: the one that `REDIS_URL` names, else a server of the run's own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env['REDIS_URL']
  const redis = url ? await relay(url) : await RedisServer.start()
  project.provide('redisPort', redis.port)
  return async () => {
    await redis[Symbol.asyncDispose]()
  }
}
