import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ProblemDocument } from './problem.ts'
import type { RequestIdempotency } from './protected-run.ts'
import type { Replay } from './replay.ts'
import type { CapturedContent } from './request-content.ts'

/** All that an adapter says of its framework. `Call` is what the framework calls a handler with. */
export interface IdempotencyFramework<Call extends readonly unknown[]> {
  request(...call: Call): IncomingMessage
  response(...call: Call): ServerResponse
  /** Path and query as the client sent them, whatever routers made of them. */
  originalUrl(...call: Call): string
  /** What the application has of the body. */
  content(...call: Call): CapturedContent
  /** Which parser to add for a content type: the middle of an error message. */
  parserAdvice(contentType: string): string
  /** Puts the handle where handlers find it. */
  keep(handle: RequestIdempotency, ...call: Call): void
  send(problem: ProblemDocument, ...call: Call): void
  replay(replay: Replay, ...call: Call): void
}
