import type { ServerResponse } from 'node:http'

type Method = (...args: never[]) => unknown

/** The methods through which a response is written. */
type Name = 'writeHead' | 'write' | 'end' | 'flushHeaders' | 'destroy'

/** What is called with the arguments, whatever overload they were meant for. */
export type Methods = Readonly<Record<Name, (args: readonly unknown[]) => unknown>>

/** Puts methods over those of a response, and gives the ones below, which may be another middleware's. */
export function override(response: ServerResponse, above: Methods): Methods {
  const { writeHead, write, end, flushHeaders, destroy } = response
  const below = (method: Method) => (args: readonly unknown[]) =>
    Reflect.apply(method, response, args)
  Object.assign(response, {
    writeHead: (...args: unknown[]) => above.writeHead(args),
    write: (...args: unknown[]) => above.write(args),
    end: (...args: unknown[]) => above.end(args),
    flushHeaders: (...args: unknown[]) => above.flushHeaders(args),
    destroy: (...args: unknown[]) => above.destroy(args),
  })
  return {
    writeHead: below(writeHead),
    write: below(write),
    end: below(end),
    flushHeaders: below(flushHeaders),
    destroy: below(destroy),
  }
}

export function isChunk(value: unknown): value is string | Uint8Array {
  return typeof value === 'string' || value instanceof Uint8Array
}

export function isFunction(value: unknown): value is (...args: unknown[]) => void {
  return typeof value === 'function'
}

/** What a `write(...args)` does when its chunk is out of the way. */
export function written(args: readonly unknown[]): true {
  const callback = args.findLast(isFunction)
  if (callback) process.nextTick(callback)
  return true
}

/** Whether Node.js can end it so; else it throws, and the handler must hear that. */
export function canEnd(response: ServerResponse, chunk: unknown): boolean {
  if (chunk && !isFunction(chunk) && !isChunk(chunk)) return false
  if (response.headersSent) return true
  const { statusCode } = response
  if (!Number.isInteger(statusCode) || statusCode < 100 || statusCode > 999) return false
  if (response.req.httpVersionMajor > 1) return true
  return !/[^\t\x20-\x7e\x80-\xff]/.test(response.statusMessage ?? '')
}
