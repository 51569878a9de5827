import { type IdempotencyOptions, idempotencyRules } from '../idempotency/idempotency.ts'
import { boolean, callback, checkOptions, duration, integer, oneOf, type Rule } from '../options.ts'
import type { Eventually } from './rate-limit-options.ts'
import { uncalled } from './uncalled.ts'

/**
 * Options of `idempotency()`. `Call` is what a framework calls its handlers with: `(req, res)` in Express, `(ctx)` in
 * Koa; every callback receives the same. A callback that throws claims nothing, and its error goes to the framework's
 * error handler.
 */
export interface IdempotencyGateOptions<Call extends readonly unknown[]>
  extends IdempotencyOptions {
  /** Methods that are protected; others pass, and so do safe ones. Default `['POST', 'PATCH']`. */
  readonly methods?: readonly string[] | undefined
  /** The request field that brings the key; default `'Idempotency-Key'`. */
  readonly header?: string | undefined
  /** Whether a request without a key is refused with 400; default false: it passes, unprotected. */
  readonly required?: boolean | undefined
  /**
   * Whose key it is, as a non-empty string: a tenant, a user. Keys of different scopes never meet. Default: one scope,
   * in which a key answers only to the Authorization field that it was first used with.
   */
  readonly scope?: ((...call: Call) => Eventually<string>) | undefined
  /**
   * What the request asks for, instead of its query, content type and body; method and path always count.
   */
  readonly fingerprint?: ((...call: Call) => Eventually<string | Uint8Array>) | undefined
  /** A request whose first copy is still running: 409, or waiting so many milliseconds for its result. Default `'reject'`. */
  readonly onConcurrent?: 'reject' | { readonly waitMs: number } | undefined
  /** Whether responses of 500 and more are results, or free the key for a retry. Default `'replay'`. */
  readonly onServerError?: 'replay' | 'release' | undefined
  /** A response with a longer body is not kept: a retry gets 409. In bytes, to 536,870,912; default 1,048,576. */
  readonly maxBodyBytes?: number | undefined
  /** While the store cannot be asked: refuse with 503, or run the handler without protection. Default `'closed'`. */
  readonly onStoreFailure?: 'closed' | 'open' | undefined
  /** Asked before a result is sent again: false answers 403. */
  readonly authorizeReplay?: ((...call: Call) => Eventually<boolean>) | undefined
  /** Whether cookies that the first response set are set again; default false. */
  readonly replaySetCookie?: boolean | undefined
  /** The URL of your documentation, for a `Link` of refusals. */
  readonly documentation?: string | undefined
}

/** The options as a gate uses them. */
export interface ResolvedIdempotencyOptions<Call extends readonly unknown[]>
  extends IdempotencyGateOptions<Call> {
  readonly protects: ReadonlySet<string>
  readonly header: string
  readonly waitMs: number
  readonly maxBodyBytes: number
  readonly core: IdempotencyOptions
}

/**
 * Checks the options once, at construction, and fills in the defaults.
 *
 * @throws ConfigurationError (`configuration`) naming the option, the value and the expectation.
 */
export function resolveIdempotencyOptions<Call extends readonly unknown[]>(
  given: IdempotencyGateOptions<Call>,
): ResolvedIdempotencyOptions<Call> {
  const options = checkOptions('idempotency', given, rules, uncalled('idempotency'))
  const { onConcurrent, methods = ['POST', 'PATCH'] } = options
  const unsafe = methods.map((method) => method.toUpperCase()).filter((name) => !safe.has(name))
  const core = Object.entries(options).filter(([name]) => name in idempotencyRules)
  return {
    ...options,
    protects: new Set(unsafe),
    header: options.header ?? 'Idempotency-Key',
    waitMs: typeof onConcurrent === 'object' ? onConcurrent.waitMs : 0,
    maxBodyBytes: options.maxBodyBytes ?? 1_048_576,
    core: Object.fromEntries(core),
  }
}

/** RFC 9110, section 9.2.1. CONNECT makes a tunnel: it has no response that could be stored. */
const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT'])

const token = /^[\w!#$%&'*+.^`|~-]+$/

const wait = duration(0)

const rules: Readonly<Record<keyof IdempotencyGateOptions<readonly unknown[]>, Rule>> = {
  ...idempotencyRules,
  methods: {
    expected: 'an array of HTTP methods',
    accepts: (value) => Array.isArray(value) && value.every(isToken),
  },
  header: { expected: 'the name of a request field', accepts: isToken },
  required: boolean,
  scope: callback,
  fingerprint: callback,
  onConcurrent: {
    expected: `'reject' or { waitMs }, where \`waitMs\` is ${wait.expected}`,
    accepts: (value) => value === 'reject' || isWait(value),
  },
  onServerError: oneOf('replay', 'release'),
  maxBodyBytes: integer(0, 536_870_912, ' bytes'),
  onStoreFailure: oneOf('closed', 'open'),
  authorizeReplay: callback,
  replaySetCookie: boolean,
  documentation: {
    expected: 'a URL',
    accepts: (value) => typeof value === 'string' && /^[\x21\x23-\x3b\x3d\x3f-\x7e]+$/.test(value),
  },
}

function isToken(value: unknown): boolean {
  return typeof value === 'string' && token.test(value)
}

function isWait(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.keys(value).join() === 'waitMs' && wait.accepts(Reflect.get(value, 'waitMs'))
}
