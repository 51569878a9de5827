import { rateLimitFieldNames } from '@sluice/core'
import type { Context } from 'koa'

/**
 * Koa removes every field before it answers an error, save those that the error brings in `headers`. So
 * the error brings the rate limit's, for as long as it is answered: an application may throw one error
 * object many times. What the error brings itself comes first.
 */
export function keepFields(ctx: Context): void {
  if (kept.has(ctx)) return
  kept.add(ctx)
  const { onerror } = ctx
  ctx.onerror = (error) => {
    if (!(error instanceof Error) || !Object.isExtensible(error)) return onerror.call(ctx, error)
    const own = Object.getOwnPropertyDescriptor(error, 'headers')
    Object.defineProperty(error, 'headers', {
      value: { ...fieldsOf(ctx), ...own?.value },
      configurable: true,
    })
    try {
      onerror.call(ctx, error)
    } finally {
      if (own) Object.defineProperty(error, 'headers', own)
      else Reflect.deleteProperty(error, 'headers')
    }
  }
}

/** Requests on which several rate limits saw the error. */
const kept = new WeakSet<Context>()

function fieldsOf({ res }: Context): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const name of rateLimitFieldNames) {
    const value = res.getHeader(name)
    if (value !== undefined) fields[name] = value
  }
  return fields
}
