import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Holds a request until its turn comes; tells false, and frees its timer, when the client leaves before.
 */
export function waitTurn(response: ServerResponse, delayMs: number): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false)
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
      resolve(true)
    }
    response.once('close', leave)
    sleep(delayMs)
  })
}

/**
 * Calls `then` once the whole answer has been handed to the network, and never when the client leaves
 * before: Node.js may still report such a response as finished, so its socket is asked as well.
 */
export function afterAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  then: () => void,
): void {
  const { socket } = request
  const finish = () => {
    response.off('close', leave)
    if (!socket.destroyed) then()
  }
  const leave = () => response.off('finish', finish)
  if (response.destroyed) return
  response.once('finish', finish)
  response.once('close', leave)
}

/** A longer timeout would overflow and fire at once. */
const MAX_TIMER_MS = 2_147_483_647
