import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { type RedisReply, RedisStore } from 'rate-limit-redis'
import { connect } from '../redis-client.ts'
import { readSettings } from '../settings.ts'
import { serve } from './serve.ts'

const { limit, windowMs } = readSettings()
const client = await connect()
const app = express()
app.use(
  rateLimit({
    windowMs,
    limit,
    keyGenerator: (req) => req.get('x-subject') ?? '',
    store: new RedisStore({
      sendCommand: (command, ...rest) => client.call(command, ...rest) as Promise<RedisReply>,
    }),
  }),
)
app.get('/', (_req, res) => {
  res.send('ok')
})
await serve(app)
