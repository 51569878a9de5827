import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { idempotencyProblem } from './idempotency-problem.ts'

/**
 * Makes of a response that was not sent the one for a transaction that was not committed; returns its body. Fields
 * that were set for the other one are gone: they tell of what has not happened.
 */
export function answerNotCommitted(response: ServerResponse, before: OutgoingHttpHeaders): string {
  const { status, contentType, body } = idempotencyProblem('idempotency-not-committed')
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  for (const [name, value] of Object.entries(before))
    if (value !== undefined) response.setHeader(name, value)
  response.statusCode = status
  if (response.req.httpVersionMajor < 2) response.statusMessage = ''
  response.setHeader('Content-Type', contentType)
  response.setHeader('Content-Length', body.length)
  response.setHeader('Retry-After', '1')
  return body
}
