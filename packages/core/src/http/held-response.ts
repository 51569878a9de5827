import type { ServerResponse } from 'node:http'

/**
 * Lets a response look ended, as it is for its handler, while its last bytes wait: heads are sent, nothing can be set,
 * and what is assigned to its status has no effect. `finished`, by which Node.js itself decides, stays as it is: a
 * compressing middleware below may still have bytes to write. Returns the function that gives it back as it was.
 */
export function lookEnded(response: ServerResponse): () => void {
  const { statusCode } = response
  const hasReason = response.req.httpVersionMajor < 2
  const reason = hasReason ? response.statusMessage : ''
  const shadows: PropertyDescriptorMap = {
    headersSent: { get: () => true },
    writableEnded: { get: () => true },
    setHeader: { value: refuse('set') },
    setHeaders: { value: refuse('set') },
    appendHeader: { value: refuse('append') },
    removeHeader: { value: refuse('remove') },
  }
  const own = new Map(
    Object.keys(shadows).map((name) => [name, Object.getOwnPropertyDescriptor(response, name)]),
  )
  for (const [name, shadow] of Object.entries(shadows))
    Object.defineProperty(response, name, { ...shadow, configurable: true })
  return () => {
    for (const [name, before] of own) {
      Reflect.deleteProperty(response, name)
      if (before) Object.defineProperty(response, name, before)
    }
    response.statusCode = statusCode
    if (hasReason) response.statusMessage = reason
  }
}

/** Tells a response what Node.js would have told it when its client left. */
export function close(response: ServerResponse): void {
  if (response.destroyed) return
  response.destroyed = true
  Reflect.set(response, '_closed', true)
  response.emit('close')
}

/** What Node.js throws for a head that is on its way. */
export function headersSentError(action: string): Error {
  const error = new Error(`Cannot ${action} headers after they are sent to the client`)
  return Object.assign(error, { code: 'ERR_HTTP_HEADERS_SENT' })
}

function refuse(action: string): () => never {
  return () => {
    throw headersSentError(action)
  }
}
