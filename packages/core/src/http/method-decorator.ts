import { ConfigurationError } from '../errors.ts'

/**
 * Checks that a decorator is applied by the standard protocol (TC39, as of 2023) and to a method. Under the legacy
 * protocol, what it returns would be taken for a property descriptor, and do nothing.
 *
 * @throws ConfigurationError (`configuration`), saying what to do.
 */
export function checkDecorated(owner: string, context: unknown): void {
  const kind = kindOf(context)
  if (kind === 'method') return
  if (kind !== undefined)
    throw new ConfigurationError(owner, 'decorated', kind, 'a method of a class')
  const expected =
    'that of standard decorators: take `experimentalDecorators` out of tsconfig.json, and legacy decorators out of ' +
    "the bundler's settings"
  throw new ConfigurationError(owner, 'protocol', 'legacy', expected)
}

/**
 * Checks that a factory of decorators was called with its own arguments, and not used as a decorator itself.
 *
 * @throws ConfigurationError (`configuration`), saying what to do.
 */
export function checkCalled(owner: string, options: unknown): void {
  if (kindOf(options) === undefined) return
  throw new ConfigurationError(owner, 'key', undefined, `given in brackets: @${owner}(key)`)
}

/**
 * Checks that a method was called by the framework, as far as a response can show that.
 *
 * @throws ConfigurationError (`configuration`), naming what it must be called with.
 */
export function checkArguments(
  owner: string,
  expected: string,
  args: readonly unknown[],
  response: unknown,
): void {
  if (typeof response === 'object' && response !== null && 'setHeader' in response) return
  throw new ConfigurationError(owner, 'arguments', args, expected)
}

/**
 * Checks that something was given to be run under a lock: at construction, since a request comes late.
 *
 * @throws ConfigurationError (`configuration`)
 */
export function checkHandler(owner: string, handler: unknown): void {
  if (typeof handler === 'function') return
  throw new ConfigurationError(owner, 'handler', handler, 'a function')
}

/** What is decorated, where this is the context of a standard decorator. */
function kindOf(context: unknown): string | undefined {
  if (typeof context !== 'object' || context === null) return undefined
  const kind: unknown = Reflect.get(context, 'kind')
  return typeof kind === 'string' ? kind : undefined
}
