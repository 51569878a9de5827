import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type IdempotencyFramework,
  IdempotencyGate,
  type IdempotencyGateOptions,
} from '@sluice/core/adapter'
import type { NextFunction, Request, Response } from 'express'
import { asError } from './as-error.ts'

/** Options of {@link idempotency}; every callback receives `(req, res)`. */
export interface IdempotencyMiddlewareOptions
  extends IdempotencyGateOptions<[req: Request, res: Response]> {}

/**
 * Runs the handlers behind it once for each idempotency key, in Express 4 and 5, and answers retries with the response
 * of the first run. Mount it after the parsers of bodies and after what authorizes callers. Handlers find
 * `req.idempotency`; errors go to the error handler, and what that answers is the response.
 *
 * @throws ConfigurationError (`configuration`) for an option that is unknown or cannot be used.
 * @example
 * ```ts
 * import { idempotency } from '@sluice/express'
 * import express from 'express'
 *
 * const app = express()
 * app.use(express.json())
 * app.use(idempotency({ scope: (req) => String(req.headers['x-account']) }))
 * ```
 */
export function idempotency(options: IdempotencyMiddlewareOptions = {}): IdempotencyHandler {
  const gate = new IdempotencyGate(express, options)
  return function idempotency(req, res, next) {
    gate.enter(req as Request, res as Response).then(
      (passes) => {
        if (passes) next()
      },
      (error: unknown) => next(asError(error)),
    )
  }
}

/**
 * A handler for any route: since it asks for no kind of parameters, those that a route's path names keep their types
 * in the handlers after it.
 */
export type IdempotencyHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  next: NextFunction,
) => void

const express: IdempotencyFramework<[req: Request, res: Response]> = {
  request: (req) => req,
  response: (_req, res) => res,
  originalUrl: (req) => req.originalUrl,
  content: (req) => ({
    raw: Reflect.get(req, 'rawBody'),
    parsed: req.body,
    files: [Reflect.get(req, 'file'), Reflect.get(req, 'files')],
  }),
  parserAdvice: (contentType) => `mount ${parserFor(contentType)}`,
  keep: (handle, req) => {
    req.idempotency = handle
  },
  send: ({ status, contentType, body }, _req, res) => {
    res.statusCode = status
    res.setHeader('Content-Type', contentType)
    res.setHeader('Content-Length', body.length)
    res.end(body)
  },
  replay: ({ status, reason, fields, body }, _req, res) => {
    res.statusCode = status
    if (reason !== undefined) res.statusMessage = reason
    for (const [name, values] of fields)
      res.setHeader(name, values.length === 1 ? String(values[0]) : values)
    res.end(body)
  },
}

function parserFor(contentType: string): string {
  if (/json/i.test(contentType)) return 'express.json()'
  if (/urlencoded/i.test(contentType)) return 'express.urlencoded()'
  if (/^\s*text\//i.test(contentType)) return 'express.text()'
  if (/^\s*multipart\//i.test(contentType)) return 'multer'
  return "express.raw({ type: '*/*' })"
}
