import { ConfigurationError, PayloadTooLargeError } from '../errors.ts'

/**
 * A payload as JSON.
 *
 * @throws PayloadTooLargeError (`payload-too-large`), ConfigurationError (`configuration`) for what JSON does not have.
 */
export function encodePayload(payload: unknown, maxPayloadBytes: number): string {
  const json = stringify(payload)
  if (json === undefined)
    throw new ConfigurationError('schedule', 'payload', payload, 'a value that JSON has')
  // No character takes more than three bytes, so most lengths need not be counted.
  const bytes = json.length * 3 <= maxPayloadBytes ? 0 : Buffer.byteLength(json)
  if (bytes > maxPayloadBytes) throw new PayloadTooLargeError(bytes, maxPayloadBytes)
  return json
}

/** One that is no JSON, since somebody else wrote it, stays a text: it must not hide the other dead tasks. */
export function decodePayload(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

/** Undefined for a function, say, for a BigInt within, or for what contains itself. */
function stringify(payload: unknown): string | undefined {
  try {
    return JSON.stringify(payload)
  } catch {
    return undefined
  }
}
