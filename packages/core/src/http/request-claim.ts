import { ConfigurationError, IdempotencyBodyNotCapturedError } from '../errors.ts'
import { fingerprintOf, fingerprintWith } from '../idempotency/fingerprint.ts'
import type { IdempotencyFramework } from './idempotency-framework.ts'
import type { ResolvedIdempotencyOptions } from './idempotency-options.ts'
import { contentOf, isEmptyAfterAll, type KnownContent } from './request-content.ts'

/** Whose key it is, where the application says so. */
export async function scopeOf<Call extends readonly unknown[]>(
  ask: (...call: Call) => unknown,
  call: Call,
): Promise<string> {
  const scope = await ask(...call)
  if (typeof scope === 'string' && scope !== '') return scope
  const expected = 'a function that gives a non-empty string'
  throw new ConfigurationError('idempotency', 'scope', scope, expected)
}

/**
 * What the request asks for; undefined when its body is nested too deeply to say. A promise only where something has
 * to be waited for.
 */
export function fingerprintFor<Call extends readonly unknown[]>(
  framework: IdempotencyFramework<Call>,
  options: ResolvedIdempotencyOptions<Call>,
  call: Call,
): string | undefined | Promise<string | undefined> {
  if (options.fingerprint) return ownFingerprint(framework, options.fingerprint, call)
  const request = framework.request(...call)
  const content = contentOf(request, framework.content(...call))
  if (content.kind !== 'not-captured') return describe(framework, content, call)
  return afterAll(framework, call).then((known) => describe(framework, known, call))
}

async function ownFingerprint<Call extends readonly unknown[]>(
  framework: IdempotencyFramework<Call>,
  ask: (...call: Call) => unknown,
  call: Call,
): Promise<string> {
  const { method = '' } = framework.request(...call)
  const url = framework.originalUrl(...call)
  return fingerprintWith(checkOwn(await ask(...call)), { method, url })
}

function describe<Call extends readonly unknown[]>(
  framework: IdempotencyFramework<Call>,
  content: KnownContent,
  call: Call,
): string | undefined | Promise<string> {
  const { method = '', headers } = framework.request(...call)
  const contentType = headers['content-type'] ?? ''
  try {
    return fingerprintOf({ method, url: framework.originalUrl(...call), contentType, content })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

async function afterAll<Call extends readonly unknown[]>(
  framework: IdempotencyFramework<Call>,
  call: Call,
): Promise<KnownContent> {
  const request = framework.request(...call)
  if (await isEmptyAfterAll(request)) return { kind: 'none' }
  const contentType = request.headers['content-type'] ?? ''
  throw new IdempotencyBodyNotCapturedError(contentType, framework.parserAdvice(contentType))
}

function checkOwn(own: unknown): string | Uint8Array {
  if (typeof own === 'string' || own instanceof Uint8Array) return own
  const expected = 'a function that gives a string or a Uint8Array'
  throw new ConfigurationError('idempotency', 'fingerprint', own, expected)
}
