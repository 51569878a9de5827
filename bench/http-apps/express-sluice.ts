import { rateLimit, redisStore } from '@sluice/express'
import express from 'express'
import { connect } from '../redis-client.ts'
import { readSettings } from '../settings.ts'
import { policyOf } from '../sluice-policy.ts'
import { serve } from './serve.ts'

const settings = readSettings()
const app = express()
app.use(
  rateLimit({
    name: settings.algorithm,
    store: redisStore(await connect()),
    policy: policyOf(settings),
    key: (req) => req.get('x-subject') ?? '',
  }),
)
app.get('/', (_req, res) => {
  res.send('ok')
})
await serve(app)
