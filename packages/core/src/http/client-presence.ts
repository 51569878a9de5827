import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { OneListener } from '../one-listener.ts'
import { ConnectionGuard } from './connection-guard.ts'

/**
 * Holds a request until its turn comes; tells false, and frees its timer, when the client leaves before.
 */
export function waitTurn(
  request: IncomingMessage,
  response: ServerResponse,
  delayMs: number,
): Promise<boolean> {
  if (hasLeft(request, response)) return Promise.resolve(false)
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout
    const leave = () => {
      clearTimeout(timer)
      resolve(false)
    }
    const sleep = (leftMs: number) => {
      const nextMs = Math.min(leftMs, MAX_TIMER_MS)
      timer = setTimeout(() => (leftMs > nextMs ? sleep(leftMs - nextMs) : go()), nextMs).unref()
    }
    const go = () => {
      response.off('close', leave)
      resolve(!hasLeft(request, response))
    }
    response.once('close', leave)
    sleep(delayMs)
  })
}

/**
 * Calls `then` once the whole answer has been handed to the network, and never when the client leaves
 * before: Node.js reports such a response as finished too, so its connection is asked.
 */
export function afterAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  then: () => void,
): void {
  const { socket } = request
  response.once('finish', () => {
    const stream = http2StreamOf(response)
    if (stream ? stream.rstCode === NO_ERROR : !socket.destroyed) then()
  })
}

/**
 * Calls `then` once the whole answer has been handed to the network, or nobody can receive it any more; at once, if
 * that is so already. Returns the function that takes this listener away.
 */
export function whenOver(
  request: IncomingMessage,
  response: ServerResponse,
  then: () => void,
): () => void {
  if (response.writableFinished || hasLeft(request, response)) {
    then()
    return () => {}
  }
  const over = () => {
    stop()
    then()
  }
  // Of a connection that closes, the responses that wait for their turn on it (pipelining) hear nothing.
  const forget = http2StreamOf(response) ? () => {} : closing.add(request.socket, over)
  const stop = () => {
    forget()
    response.off('finish', over).off('close', over)
  }
  response.once('finish', over).once('close', over)
  return stop
}

const closing: OneListener<Socket> = new OneListener((socket, heard) => {
  socket.once('close', heard)
  return () => void socket.off('close', heard)
})

/**
 * Calls `then` when somebody in this process ends or destroys the response: its handler is done, also if the client
 * has left before, of which Node.js tells no more.
 */
export function whenEnded(
  request: IncomingMessage,
  response: ServerResponse,
  then: () => void,
): void {
  const forget = http2StreamOf(response) ? () => {} : whenCutOff(request, response, then)
  for (const name of ['end', 'destroy'] as const) {
    const method = response[name]
    Reflect.set(response, name, (...args: unknown[]): unknown => {
      const result: unknown = Reflect.apply(method, response, args)
      forget()
      then()
      return result
    })
  }
}

/**
 * A response that has begun when its handler fails cannot tell so: Express destroys its connection. Which response of
 * several on a connection was meant nobody can tell; it is the one whose turn it is. Returns the function that stops it.
 */
function whenCutOff(
  request: IncomingMessage,
  response: ServerResponse,
  then: () => void,
): () => void {
  const { socket } = request
  return ConnectionGuard.of(socket).add({
    defers: () => false,
    breaking: () => {},
    left: () => {},
    severed: () => {
      if (response.headersSent && response.socket === socket) then()
    },
  })
}

/** A response that waits behind others of its connection (pipelining) is not told when that one closes. */
export function hasLeft({ socket }: IncomingMessage, response: ServerResponse): boolean {
  return response.destroyed || (http2StreamOf(response) ?? socket).destroyed
}

/** In HTTP/2 a response has a stream of its own, which ends while its connection lives on. */
function http2StreamOf(response: ServerResponse): ServerHttp2Stream | undefined {
  return 'stream' in response ? (response.stream as ServerHttp2Stream) : undefined
}

const NO_ERROR = 0

/** A longer timeout would overflow and fire at once. */
const MAX_TIMER_MS = 2_147_483_647
