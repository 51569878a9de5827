/**
 * One text for all JSON values of equal content: keys sorted, arrays in order, numbers by value however they are
 * written. Throws a RangeError for what is nested too deeply.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0, fromValue)
}

/**
 * The same of JSON text, where numbers are exact also beyond 2^53; undefined for text that is no JSON. Node.js 20 cannot
 * tell a reviver how a number was written, so that numbers and strings are marked in the text before it is parsed.
 */
export function canonicalJsonText(text: string): string | undefined {
  const isExact = !INEXACT.test(text)
  const value = parse(isExact ? text : mark(text))
  if (!value) return undefined
  return write(value.parsed, 0, isExact ? fromValue : fromMarked)
}

function parse(text: string): { readonly parsed: unknown } | undefined {
  try {
    return { parsed: JSON.parse(text) }
  } catch {
    return undefined
  }
}

function mark(text: string): string {
  return text.replace(SCALAR, (scalar) =>
    scalar.startsWith('"') ? `"s${scalar.slice(1)}` : `"n${canonicalNumber(scalar)}"`,
  )
}

/** A number by value: its digits without zeros around them, and its exponent. */
export function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = withoutTrailingZeros(digits)
  if (significant === '') return '0'
  const scale =
    BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length)
  return `${sign}${significant}e${scale}`
}

/** As {@link canonicalNumber}, of what is written without exponent and fraction. */
function canonicalInteger(value: number): string {
  if (value === 0) return '0'
  let digits = value
  let zeros = 0
  for (; digits % 10 === 0; digits /= 10) zeros++
  return `${digits}e${zeros}`
}

/** By a loop: `/0+$/` takes quadratic time over zeros that something follows, and clients choose the digits. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/** What a text must have in it where a number might not be exact as it is parsed: a double keeps any 15 digits. */
const INEXACT = /[\d.]{16}|[eE][+-]?\d{3}/

/** A string that does not end matches up to the end of the text, or each of its quotes would be tried as a beginning. */
const SCALAR = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/gs
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/
const MAX_DEPTH = 500

type Scalar = (value: unknown) => string

function write(value: unknown, depth: number, scalar: Scalar): string {
  if (typeof value !== 'object' || value === null) return scalar(value)
  if (depth >= MAX_DEPTH) throw new RangeError(`nested deeper than ${MAX_DEPTH} levels`)
  if (hasToJson(value)) return write(value.toJSON(''), depth + 1, scalar)
  if (!isIterable(value)) return writeObject(value, depth, scalar)
  let text = ''
  for (const item of value) text += `${text && ','}${write(item, depth + 1, scalar)}`
  return `[${text}]`
}

function writeObject(value: object, depth: number, scalar: Scalar): string {
  const keys = Object.keys(value).sort()
  if (keys.length === 0 && !isPlain(value)) throw new TypeError(incomparable(value))
  let text = ''
  for (const key of keys) {
    const member: unknown = Reflect.get(value, key)
    if (member === undefined) continue
    const name = scalar === fromMarked ? key.slice(1) : key
    text += `${text && ','}${JSON.stringify(name)}:${write(member, depth + 1, scalar)}`
  }
  return `{${text}}`
}

function fromValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (Number.isSafeInteger(value)) return canonicalInteger(value as number)
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value)))
    return canonicalNumber(String(value))
  // A parser makes Infinity of 1e400, which is no null.
  return typeof value === 'boolean' || typeof value === 'number' ? String(value) : 'null'
}

function fromMarked(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  return value.startsWith('n') ? value.slice(1) : JSON.stringify(value.slice(1))
}

/** A Map, a Set, URLSearchParams: what they hold is not in their properties. */
function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** A Blob, say: it shows nothing of what it holds, and any two of them would look the same. */
function incomparable(value: object): string {
  return `a ${value.constructor.name} cannot be compared by its content: give idempotency() a \`fingerprint\``
}

function hasToJson(value: object): value is { toJSON(key: string): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}
