import { rateLimitFieldNames } from '@sluice/core'
import type { Context } from 'koa'

/**
 * Koa removes every field before it answers an error, save those that the error brings in `headers`. Those of
 * rate limits stay. The error itself is left alone: an application may throw one object many times, or
 * one that cannot be changed. What the error brings comes first.
 */
export function keepFields(ctx: Context): void {
  if (kept.has(ctx)) return
  kept.add(ctx)
  const { onerror, res } = ctx
  ctx.onerror = (error) => {
    const { removeHeader } = res
    res.removeHeader = (name) => {
      if (!names.has(name.toLowerCase())) removeHeader.call(res, name)
    }
    try {
      onerror.call(ctx, error)
    } finally {
      res.removeHeader = removeHeader
    }
  }
}

/** Requests on which several rate limits saw the error. */
const kept = new WeakSet<Context>()

const names: ReadonlySet<string> = new Set(rateLimitFieldNames.map((name) => name.toLowerCase()))
