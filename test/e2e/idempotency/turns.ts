import { createReadStream } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type * as onExpress from '@sluice/express'
import type { Request, Response } from 'express'
import Koa3, { type Context } from 'koa'

/** A request and the ways to answer it that frameworks have in common. */
export interface Turn {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly path: string
  readonly body: unknown
  readonly idempotency: onExpress.RequestIdempotency | undefined
  /** As it is now. */
  readonly lease: onExpress.Lease | undefined
  /** Leaves the bytes of the body where an application keeps them. */
  keepRaw(bytes: Buffer): void
  status(status: number, reason?: string): void
  set(name: string, value: string | string[]): void
  json(value: unknown): void
  bytes(body: Buffer | string): void
  empty(status: number): void
  stream(body: Readable): void
  web(body: Blob | ReadableStream): void
  file(path: string): void
  redirect(url: string): void
  /** Writes to Node's response, past the framework. */
  raw(write: (res: ServerResponse) => void): void
}

export type Handler = (turn: Turn) => void | Promise<void>

/** A handler that writes to Node's response. */
export function rawly(write: (res: ServerResponse) => void): Handler {
  return (turn) => turn.raw(write)
}

export function expressTurn(req: Request, res: Response): Turn {
  return {
    req,
    res,
    path: req.path,
    body: req.body,
    idempotency: req.idempotency,
    get lease() {
      return req.lease
    },
    keepRaw: (bytes) => void Reflect.set(req, 'rawBody', bytes),
    status: (status, reason) => {
      res.status(status)
      if (reason !== undefined) res.statusMessage = reason
    },
    set: (name, value) => void res.set(name, value),
    json: (value) => void res.json(value),
    bytes: (body) => void res.send(body),
    empty: (status) => void res.status(status).end(),
    stream: (body) => void body.pipe(res),
    web: (body) => {
      const stream = body instanceof Blob ? body.stream() : body
      Readable.fromWeb(stream as Parameters<typeof Readable.fromWeb>[0]).pipe(res)
    },
    file: (path) => void res.sendFile(path),
    redirect: (url) => void res.redirect(url),
    raw: (write) => void write(res),
  }
}

export function koaTurn(ctx: Context): Turn {
  // Nor does koa-compress: it would take them for JSON.
  const knowsWebStreams = ctx.app instanceof Koa3 && Reflect.get(ctx, 'compression') === 'absent'
  return {
    req: ctx.req,
    res: ctx.res,
    path: ctx.path,
    body: ctx.request.body,
    idempotency: ctx.state.idempotency,
    get lease() {
      return ctx.state.lease
    },
    keepRaw: (bytes) => void Reflect.set(ctx.request, 'rawBody', bytes),
    status: (status, reason) => {
      ctx.status = status
      if (reason !== undefined) ctx.message = reason
    },
    set: (name, value) => ctx.set(name, value),
    json: (value) => {
      ctx.body = JSON.stringify(value)
      ctx.type = 'json'
    },
    bytes: (body) => {
      ctx.body = body
    },
    empty: (status) => {
      ctx.body = null
      ctx.status = status
    },
    stream: (body) => {
      ctx.body = body
    },
    web: (body) => {
      const stream = body instanceof Blob ? body.stream() : body
      ctx.body = knowsWebStreams
        ? body
        : Readable.fromWeb(stream as Parameters<typeof Readable.fromWeb>[0])
    },
    file: (path) => {
      ctx.body = createReadStream(path)
    },
    redirect: (url) => ctx.redirect(url),
    raw: (write) => {
      ctx.respond = false
      // Koa expects 404 until somebody answers.
      ctx.res.statusCode = 200
      write(ctx.res)
    },
  }
}
