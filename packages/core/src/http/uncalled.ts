import { IncomingMessage } from 'node:http'

/**
 * Hints for the options of a middleware that was mounted without being called, `app.use(rateLimit)`: what it takes for
 * options is the request. The names are those of the first property of a request of Express, and of a context of Koa.
 */
export function uncalled(owner: string): Readonly<Record<string, string>> {
  const hint = `it got a request instead of options: write app.use(${owner}()), not app.use(${owner})`
  return { _events: hint, request: hint }
}

/** Whether this is what a framework calls its handlers with: a request of Express, or a context of Koa. */
export function isRequest(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return value instanceof IncomingMessage || Reflect.get(value, 'req') instanceof IncomingMessage
}
