import type { Asked, Granted, History, HistoryEvent } from './history.ts'
import { of } from './history.ts'

/** One acquire, and what followed from it. */
export interface Call {
  readonly asked: Asked
  /** When it was granted or told why not; undefined: never. */
  readonly answeredMs: number | undefined
  /** The death of its process. */
  readonly diedMs: number | undefined
  /** Undefined: there was no lease, or one that had ended when it came. */
  readonly hold: Hold | undefined
  readonly release: 'none' | 'asked for' | 'answered'
}

/** One lease, as its holder saw it. */
export interface Hold {
  readonly call: string
  readonly key: string
  readonly fence: number | undefined
  readonly fromMs: number
  /** It was given back, or its end had come, or its process died. */
  readonly untilMs: number
  /** From here on the store has no reason to keep it: the release was answered, or the lease had ended. */
  readonly freeMs: number
}

/** All acquires, in the order in which they were asked for. */
export function callsOf(history: History): Call[] {
  const died = new Map(of(history, 'died').map(({ process, atMs }) => [process, atMs]))
  const events = new Map<string, HistoryEvent[]>()
  for (const event of history)
    if ('call' in event) events.set(event.call, [...(events.get(event.call) ?? []), event])
  return of(history, 'asked').map((asked) => {
    const own = events.get(asked.call) ?? []
    const granted = of(own, 'granted')[0]
    const diedMs = died.get(asked.process)
    const releasing = of(own, 'releasing').length > 0
    return {
      asked,
      answeredMs: granted?.atMs ?? of(own, 'told')[0]?.atMs,
      diedMs,
      hold: granted && granted.untilMs > granted.atMs ? hold(granted, own, diedMs) : undefined,
      release: of(own, 'released').length > 0 ? 'answered' : releasing ? 'asked for' : 'none',
    }
  })
}

function hold(
  { call, key, fence, atMs, untilMs }: Granted,
  own: History,
  diedMs = Number.POSITIVE_INFINITY,
): Hold {
  const renewed = of(own, 'held').filter((held) => held.untilMs > held.atMs)
  const leasedUntilMs = Math.max(untilMs, ...renewed.map((held) => held.untilMs))
  const givenMs = of(own, 'releasing')[0]?.atMs ?? Number.POSITIVE_INFINITY
  const released = of(own, 'released').find(({ outcome }) => outcome === 'released')
  return {
    call,
    key,
    fence,
    fromMs: atMs,
    untilMs: Math.min(leasedUntilMs, givenMs, diedMs),
    freeMs: Math.min(leasedUntilMs, released?.atMs ?? Number.POSITIVE_INFINITY),
  }
}
