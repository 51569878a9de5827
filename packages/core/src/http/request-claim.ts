import { ConfigurationError, IdempotencyBodyNotCapturedError } from '../errors.ts'
import { fingerprintOf, fingerprintWith } from '../idempotency/fingerprint.ts'
import type { IdempotencyFramework } from './idempotency-framework.ts'
import type { ResolvedIdempotencyOptions } from './idempotency-options.ts'
import { contentOf, isEmptyAfterAll, type KnownContent } from './request-content.ts'

/** Whose key it is, where the application says so. */
export async function scopeOf<Call extends readonly unknown[]>(
  options: ResolvedIdempotencyOptions<Call>,
  call: Call,
): Promise<string | undefined> {
  if (!options.scope) return undefined
  const scope: unknown = await options.scope(...call)
  if (typeof scope === 'string' && scope !== '') return scope
  const expected = 'a function that gives a non-empty string'
  throw new ConfigurationError('idempotency', 'scope', scope, expected)
}

/** What the request asks for; undefined when its body is nested too deeply to say. */
export async function fingerprintFor<Call extends readonly unknown[]>(
  framework: IdempotencyFramework<Call>,
  options: ResolvedIdempotencyOptions<Call>,
  call: Call,
): Promise<string | undefined> {
  const { method = '', headers } = framework.request(...call)
  const url = framework.originalUrl(...call)
  if (options.fingerprint)
    return fingerprintWith(checkOwn(await options.fingerprint(...call)), { method, url })
  const content = await knownContent(framework, call)
  const contentType = headers['content-type'] ?? ''
  try {
    return await fingerprintOf({ method, url, contentType, content })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

async function knownContent<Call extends readonly unknown[]>(
  framework: IdempotencyFramework<Call>,
  call: Call,
): Promise<KnownContent> {
  const request = framework.request(...call)
  const content = contentOf(request, framework.content(...call))
  if (content.kind !== 'not-captured') return content
  if (await isEmptyAfterAll(request)) return { kind: 'none' }
  const contentType = request.headers['content-type'] ?? ''
  throw new IdempotencyBodyNotCapturedError(contentType, framework.parserAdvice(contentType))
}

function checkOwn(own: unknown): string | Uint8Array {
  if (typeof own === 'string' || own instanceof Uint8Array) return own
  const expected = 'a function that gives a string or a Uint8Array'
  throw new ConfigurationError('idempotency', 'fingerprint', own, expected)
}
