import type { ServerResponse } from 'node:http'
import { rateLimitFieldNames } from '@sluice/core'

/**
 * Koa removes every field before it answers an error, save those that the error brings in `headers`. So
 * the fields of the rate limit go there; what the application put there itself stays.
 */
export function keepFields(response: ServerResponse, error: unknown): void {
  if (!(error instanceof Error) || !Object.isExtensible(error) || response.headersSent) return
  const own: unknown = Reflect.get(error, 'headers')
  const headers: Record<string, unknown> = {}
  for (const name of rateLimitFieldNames) {
    const value = response.getHeader(name)
    if (value !== undefined) headers[name] = value
  }
  Reflect.set(error, 'headers', { ...headers, ...(typeof own === 'object' ? own : undefined) })
}
