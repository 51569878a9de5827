import type { ServerResponse } from 'node:http'

/**
 * Takes what is written to a response whose client has gone, and lets go on who waits for room in it: there will be no
 * `drain` from a connection that is closed. What Node.js has no connection for, it would keep until there is one.
 */
export function discardWrites(response: ServerResponse): void {
  // A stream of HTTP/2 no longer says it when it is closed.
  const mayWait = response.req.httpVersionMajor > 1 || response.writableNeedDrain
  Reflect.set(response, '_writeRaw', () => true)
  Object.defineProperty(response, 'writableNeedDrain', { configurable: true, get: () => false })
  // When frameworks have heard of the close too: a stream goes on when they no longer want to destroy it.
  if (mayWait) setImmediate(() => response.emit('drain'))
}

/**
 * Takes a response off its connection: then it hears of no close, and can be written to, as one that waits for its turn.
 * That it is finished it is not told, or the server would take it off once more, and fail.
 */
export function detach(response: ServerResponse): void {
  if (response.socket) response.detachSocket(response.socket)
  silence(response, (event) => event === 'finish')
}

/**
 * Keeps from an HTTP/2 response that its stream was closed, where `hides` says so: Node.js tells it by `finish` and
 * `close`. Returns the function that tells it after all.
 */
export function hideClose(response: ServerResponse, hides: () => boolean): () => void {
  let hidden = false
  const unsilence = silence(response, (event) => {
    if (event !== 'finish' && event !== 'close') return false
    hidden ||= hides()
    return hidden
  })
  return () => {
    if (!hidden) return
    hidden = false
    unsilence()
    response.emit('finish')
    response.emit('close')
  }
}

/** Keeps events from their listeners; returns the function that stops it. */
function silence(response: ServerResponse, keeps: (event: unknown) => boolean): () => void {
  const { emit } = response
  let isSilent = true
  Reflect.set(response, 'emit', (...args: unknown[]) =>
    isSilent && keeps(args[0]) ? false : Reflect.apply(emit, response, args),
  )
  return () => {
    isSilent = false
  }
}
