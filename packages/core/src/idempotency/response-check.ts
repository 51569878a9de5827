import { ConfigurationError } from '../errors.ts'
import type { StoredResponse } from './record.ts'

/** @throws ConfigurationError (`configuration`) for what no replay could send, before anything is stored. */
export function checkResponse(owner: string, response: StoredResponse): void {
  const { status, headers, body } = response
  if (!Number.isInteger(status) || status < 100 || status > 999)
    throw new ConfigurationError(owner, 'status', status, 'an integer from 100 to 999')
  if (!Array.isArray(headers) || !headers.every(isField))
    throw new ConfigurationError(owner, 'headers', headers, 'an array of [name, value] strings')
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new ConfigurationError(owner, 'body', body, 'a string or a Uint8Array')
}

function isField(field: unknown): boolean {
  return (
    Array.isArray(field) &&
    field.length === 2 &&
    field.every((part: unknown) => typeof part === 'string')
  )
}
