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
  const restoreState = shadowState(response)
  const restoreSetters = shadowSetters(response)
  return () => {
    restoreSetters()
    restoreState()
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

interface Held extends ServerResponse {
  /** True while it looks ended. */
  [looksEnded]?: boolean
}

const looksEnded = Symbol('looks ended')

/**
 * These accessors stay, and ask each time: V8 turns an object that loses a property, or gets an accessor of its own
 * making, into a dictionary, and whatever Node.js does with the response from then on is slow.
 */
const accessors: PropertyDescriptorMap = {
  headersSent: accessor('headersSent'),
  writableEnded: accessor('writableEnded'),
}

function accessor(name: 'headersSent' | 'writableEnded'): PropertyDescriptor {
  function get(this: Held): unknown {
    return this[looksEnded] === true || Reflect.get(Object.getPrototypeOf(this), name, this)
  }
  return { configurable: true, get }
}

function shadowState(response: Held): () => void {
  const foreign = isForeign(response) ? Object.getOwnPropertyDescriptors(response) : undefined
  Object.defineProperties(response, accessors)
  response[looksEnded] = true
  return () => {
    response[looksEnded] = false
    if (foreign) restore(response, foreign)
  }
}

/** Whether somebody else has put accessors on this very response. */
function isForeign(response: Held): boolean {
  if (response[looksEnded] !== undefined) return false
  return Object.hasOwn(response, 'headersSent') || Object.hasOwn(response, 'writableEnded')
}

function restore(response: Held, foreign: PropertyDescriptorMap): void {
  for (const name of Object.keys(accessors)) {
    const own = foreign[name]
    if (own) Object.defineProperty(response, name, own)
  }
}

const setters = {
  setHeader: refuse('set'),
  setHeaders: refuse('set'),
  appendHeader: refuse('append'),
  removeHeader: refuse('remove'),
}

function shadowSetters(response: ServerResponse): () => void {
  const { setHeader, setHeaders, appendHeader, removeHeader } = response
  Object.assign(response, setters)
  return () => Object.assign(response, { setHeader, setHeaders, appendHeader, removeHeader })
}

function refuse(action: string): () => never {
  return () => {
    throw headersSentError(action)
  }
}
