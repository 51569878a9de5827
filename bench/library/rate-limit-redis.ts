import type { Options } from 'express-rate-limit'
import { type RedisReply, RedisStore } from 'rate-limit-redis'
import { connect } from '../redis-client.ts'
import { readSettings } from '../settings.ts'
import { serveLoop } from './loop.ts'

const { limit, windowMs } = readSettings()
const client = await connect()
const store = new RedisStore({
  sendCommand: (command, ...rest) => client.call(command, ...rest) as Promise<RedisReply>,
})
await store.init({ windowMs } as Options) // express-rate-limit's part; the store reads nothing else of it
serveLoop({
  consume: (subject) => store.increment(subject),
  allows: ({ totalHits }) => totalHits <= limit,
})
