import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type Framework,
  RateLimitGate,
  type RateLimitOptions as RateLimitOptionsOf,
} from '@sluice/core/adapter'
import type { NextFunction, Request, Response } from 'express'

/** Options of {@link rateLimit}; every callback receives `(req, res)`, `onLimited` the decision after them. */
export interface RateLimitOptions extends RateLimitOptionsOf<[req: Request, res: Response]> {}

/**
 * Limits how fast a caller may go, in Express 4 and 5. The decision is in `req.rateLimit`; with several
 * limits on one request, the last one's. A request over its limit is answered with 429 and a problem
 * document; errors go to the error handler.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or cannot be used.
 * @example
 * ```ts
 * import { rateLimit, tokenBucket } from '@sluice/express'
 * import express from 'express'
 *
 * const app = express()
 * app.use(rateLimit({ policy: tokenBucket({ capacity: 20, refill: 5, refillMs: 1000 }) }))
 * ```
 */
export function rateLimit(options: RateLimitOptions = {}): RateLimitHandler {
  const gate = new RateLimitGate(express, options)
  return function rateLimit(req, res, next) {
    gate.enter(req as Request, res as Response).then((passes) => {
      if (passes) next()
    }, next)
  }
}

/**
 * A handler for any route: since it asks for no kind of parameters, those that a route's path names keep their types
 * in the handlers after it.
 */
export type RateLimitHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  next: NextFunction,
) => void

const express: Framework<[req: Request, res: Response]> = {
  request: (req) => req,
  response: (_req, res) => res,
  address: (req) => req.ip,
  proxyTrust: ({ app }) => {
    const setting: unknown = app.get('trust proxy')
    if (!setting || (Array.isArray(setting) && setting.length === 0)) return 'none'
    // Whoever trusts an address set aside for documentation, a million hops away, trusts everybody.
    return app.get('trust proxy fn')('192.0.2.1', 1_000_000) ? 'every' : 'some'
  },
  proxyAdvice: "Set how many proxies there are: app.set('trust proxy', 1).",
  idempotency: (req) => req.idempotency,
  keep: (decision, req) => {
    req.rateLimit = decision
  },
  setStatus: (status, _req, res) => {
    res.status(status)
  },
  send: ({ status, contentType, body }, _req, res) => {
    res.statusCode = status
    res.setHeader('Content-Type', contentType)
    res.setHeader('Content-Length', body.length)
    res.end(body)
  },
}
