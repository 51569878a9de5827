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
  let marked: unknown
  try {
    marked = JSON.parse(
      text.replace(SCALAR, (scalar) =>
        scalar.startsWith('"') ? `"s${scalar.slice(1)}` : `"n${canonicalNumber(scalar)}"`,
      ),
    )
  } catch {
    return undefined
  }
  return write(marked, 0, fromMarked)
}

/** A number by value: its digits without zeros around them, and its exponent. */
export function canonicalNumber(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const scale =
    BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length)
  return `${sign}${significant}e${scale}`
}

const SCALAR = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d+))?$/
const MAX_DEPTH = 500

type Scalar = (value: unknown) => string

function write(value: unknown, depth: number, scalar: Scalar): string {
  if (typeof value !== 'object' || value === null) return scalar(value)
  if (depth >= MAX_DEPTH) throw new RangeError(`nested deeper than ${MAX_DEPTH} levels`)
  if (hasToJson(value)) return write(value.toJSON(''), depth + 1, scalar)
  if (!Array.isArray(value)) return writeObject(value, depth, scalar)
  let text = ''
  for (const item of value) text += `${text && ','}${write(item, depth + 1, scalar)}`
  return `[${text}]`
}

function writeObject(value: object, depth: number, scalar: Scalar): string {
  let text = ''
  for (const key of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, key)
    if (member === undefined) continue
    const name = scalar === fromMarked ? key.slice(1) : key
    text += `${text && ','}${JSON.stringify(name)}:${write(member, depth + 1, scalar)}`
  }
  return `{${text}}`
}

function fromValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isFinite(value)))
    return canonicalNumber(String(value))
  return typeof value === 'boolean' ? String(value) : 'null'
}

function fromMarked(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  return value.startsWith('n') ? value.slice(1) : JSON.stringify(value.slice(1))
}

function hasToJson(value: object): value is { toJSON(key: string): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}
