import {
  createIdempotency,
  createLocker,
  createRateLimiter,
  fixedWindow,
  type RateLimitOptions,
  type Store,
} from '@sluice/express'
import { assertType, it } from 'vitest'

it('an option that may be undefined is one that may be left out, also under exactOptionalPropertyTypes', () => {
  const store = undefined as Store | undefined
  const name = undefined as string | undefined
  const policy = fixedWindow({ limit: 1, windowMs: 1000, name })
  assertType<RateLimitOptions>({ store, name, policy })
  assertType(createRateLimiter({ store, name, policy }))
  assertType(createIdempotency({ store }))
  assertType(createLocker({ store }).acquire('k', { signal: undefined as AbortSignal | undefined }))
})
