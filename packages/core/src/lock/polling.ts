import { aborts } from '../resilience/aborts.ts'
import { newToken } from '../token.ts'
import { noAnswer, type Taken, type Wait } from './caller.ts'
import type { LockKeys } from './store.ts'
import { takeOnce } from './taking.ts'
import { WaitLimit } from './wait-limit.ts'

/**
 * Waits where nobody stands in line: asks again after a pause with full jitter, which splits those who failed together
 * (M. Brooker, Exponential Backoff And Jitter, 2015). Resolves with the store's refusal when the wait is over.
 */
export async function poll(keys: LockKeys, wait: Wait): Promise<Taken> {
  const limit = new WaitLimit(wait)
  let last: { readonly leftMs: number } | { readonly error: unknown } | undefined
  try {
    for (let attempt = 0; ; attempt++) {
      const claim = { ...wait.claim, token: newToken() }
      const taken = await takeOnce({ ...wait, claim, signal: limit.signal }, keys).catch(
        (error: unknown) => {
          if (!last || limit.signal.aborted) throw error
          return { error }
        },
      )
      if ('fence' in taken) return taken
      last = taken
      const longestMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt)
      await pause(Math.random() * longestMs, limit.signal)
    }
  } catch (reason) {
    if (reason !== WaitLimit.reached) throw reason
    if (last && 'leftMs' in last) return last
    throw last ? last.error : noAnswer(wait.waitMs)
  } finally {
    limit.end()
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stopListening()
      resolve()
    }, ms)
    const stopListening = aborts.add(signal, () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500
