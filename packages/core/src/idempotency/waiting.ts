import type { Watch } from './wakeups.ts'

export interface WaitOptions<Reply> {
  /** When to give up, by the monotonic clock. */
  readonly untilMs: number
  readonly signal: AbortSignal | undefined
  readonly watch: Watch
  /** Asks the store again. */
  ask(): Promise<Reply>
  isOver(reply: Reply): boolean
}

/**
 * Waits until the key is no longer in progress, or `untilMs`; resolves with the store's last word. It asks when
 * news can arrive (what came before was not heard), when there are news, and else once a second, for news that got lost
 * and for owners that fell silent.
 *
 * @throws the signal's reason, and whatever `ask` throws.
 */
export async function waitForNews<Reply>(
  first: Reply,
  { untilMs, signal, watch, ask, isOver }: WaitOptions<Reply>,
): Promise<Reply> {
  let reply = first
  let news = watch.ready
  try {
    for (;;) {
      const leftMs = untilMs - performance.now()
      const heard = await firstOf(news, Math.min(ASK_AGAIN_MS, leftMs), signal)
      if (!heard && leftMs < ASK_AGAIN_MS) return reply
      reply = await ask().catch(failedWhileWaiting)
      if (isOver(reply)) return reply
      news = watch.changed()
    }
  } finally {
    watch.close()
  }
}

/** Whether a call failed of one who had been told before that somebody else is at it: who knows that must not run it. */
export function isOfWaiting(error: Error): boolean {
  return ofWaiting.has(error)
}

const ofWaiting = new WeakSet<Error>()

function failedWhileWaiting(error: unknown): never {
  if (error instanceof Error) ofWaiting.add(error)
  throw error
}

/** True with the news, false when the time is over first. The timer keeps the process alive, as one who waits expects. */
function firstOf(
  news: Promise<void>,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(() => resolve(false)), Math.max(0, ms))
    const aborted = () => settle(() => reject(signal?.reason))
    const settle = (done: () => void) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
      done()
    }
    signal?.addEventListener('abort', aborted)
    void news.then(() => settle(() => resolve(true)))
  })
}

const ASK_AGAIN_MS = 1000
