import { createRateLimiter, redisStore } from '@sluice/core'
import { connect } from '../redis-client.ts'
import { readSettings } from '../settings.ts'
import { policyOf } from '../sluice-policy.ts'
import { serveLoop } from './loop.ts'

const settings = readSettings()
const limiter = createRateLimiter({
  name: settings.algorithm,
  store: redisStore(await connect()),
  policy: policyOf(settings),
})
serveLoop({
  consume: (subject) => limiter.consume(subject),
  allows: ({ allowed }) => allowed,
})
