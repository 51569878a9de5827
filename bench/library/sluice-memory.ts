import { createRateLimiter, memoryStore } from '@sluice/core'
import { readSettings } from '../settings.ts'
import { policyOf } from '../sluice-policy.ts'
import { serveLoop } from './loop.ts'

const settings = readSettings()
const limiter = createRateLimiter({
  name: settings.algorithm,
  store: memoryStore({ maxKeys: 200_000 }), // room for every subject: the peer evicts none either
  policy: policyOf(settings),
})
serveLoop({
  consume: (subject) => limiter.consume(subject),
  allows: ({ allowed }) => allowed,
})
