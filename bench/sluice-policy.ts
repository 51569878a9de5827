import {
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'
import type { Settings } from './settings.ts'

const dayMs = 86_400_000

export function policyOf({ algorithm, limit, windowMs }: Settings): Policy | Policy[] {
  switch (algorithm) {
    case 'fixed':
      return fixedWindow({ limit, windowMs })
    case 'sliding':
      return slidingWindow({ limit, windowMs })
    case 'log':
      return slidingLog({ limit, windowMs })
    case 'token':
      return tokenBucket({ capacity: limit, refill: limit, refillMs: windowMs })
    case 'leaky':
      return leakyBucket({ capacity: limit, drain: limit, drainMs: windowMs })
    case 'four':
      return [
        tokenBucket({ name: 'burst', capacity: limit, refill: limit, refillMs: windowMs }),
        slidingWindow({ name: 'hour', limit, windowMs }),
        fixedWindow({ name: 'day', limit, windowMs: dayMs }),
        fixedWindow({ name: 'month', limit, windowMs: 30 * dayMs }),
      ]
  }
}
