import { expect, test } from 'vitest'
import { check, type Rule } from './checker.ts'
import type { History, HistoryEvent } from './history.ts'

/** One good lease of key `k` by process `p`: asked at `fromMs`, held for 10 ms of its 100, with one accepted write. */
function lease(
  call: string,
  fromMs: number,
  fence: number | undefined,
  change: { process?: string; untilMs?: number; writeMs?: number; releaseMs?: number } = {},
): HistoryEvent[] {
  const { process = 'p', untilMs = fromMs + 100 } = change
  const { writeMs = fromMs + 5, releaseMs = fromMs + 10 } = change
  return [
    { what: 'asked', atMs: fromMs, process, call, key: 'k', waitMs: 1000 },
    { what: 'granted', atMs: fromMs, process, call, key: 'k', fence, untilMs },
    { what: 'write', atMs: writeMs, call, key: 'k', fence, accepted: true },
    { what: 'releasing', atMs: releaseMs, call },
    { what: 'released', atMs: releaseMs + 1, call, outcome: 'released' },
  ]
}

function history(...parts: readonly (HistoryEvent | readonly HistoryEvent[])[]): History {
  return parts.flat().sort((one, other) => one.atMs - other.atMs)
}

function rules(events: History): Rule[] {
  return check(events).map(({ rule }) => rule)
}

const stored = { name: 'k', lock: false, ttlMs: 5 }

test('a history in which all is well has no violation', () => {
  const good = history(
    lease('a', 0, 1),
    lease('b', 20, 2, { process: 'q' }),
    { what: 'asked', atMs: 21, process: 'p', call: 'c', key: 'k', waitMs: 1000 },
    { what: 'told', atMs: 1021, call: 'c', why: 'held' },
    { what: 'looked', atMs: 2000, keys: [stored] },
  )
  expect(check(good)).toEqual([])
})

const dead: HistoryEvent = { what: 'died', atMs: 12, process: 'p' }
const asks: HistoryEvent = { what: 'asked', atMs: 0, process: 'p', call: 'a', key: 'k', waitMs: 10 }
const tells: HistoryEvent = { what: 'told', atMs: 20_000, call: 'a', why: 'held' }

test.each<{ wrong: string; events: History; found: Rule[] }>([
  {
    wrong: 'the same fence twice',
    events: history(lease('a', 0, 7), lease('b', 20, 7)),
    found: ['fence-not-rising'],
  },
  {
    wrong: 'a lower fence, whose writes are accepted',
    events: history(lease('a', 0, 7), lease('b', 20, 6)),
    found: ['fence-not-rising', 'accepted-fence-fell'],
  },
  {
    wrong: 'an accepted write of an earlier grant, without fences',
    events: history(
      lease('a', 0, undefined, { writeMs: 40, releaseMs: 9 }),
      lease('b', 20, undefined),
    ),
    found: ['late-write-accepted'],
  },
  {
    wrong: 'an accepted write with a lower fence than one before',
    events: history(lease('a', 0, 1, { writeMs: 40, releaseMs: 9 }), lease('b', 20, 2)),
    found: ['accepted-fence-fell', 'late-write-accepted'],
  },
  {
    wrong: 'two leases at once',
    events: history(lease('a', 0, 1, { releaseMs: 30 }), lease('b', 20, 2)),
    found: ['overlap'],
  },
  {
    wrong: 'three leases at once',
    events: history(
      lease('a', 0, 1, { releaseMs: 90 }),
      lease('b', 20, 2),
      lease('c', 40, 3, { process: 'q' }),
    ),
    found: ['overlap', 'overlap'],
  },
  {
    wrong: 'two leases at once, the first of them renewed',
    events: history(
      lease('a', 0, 1, { releaseMs: 150 }),
      { what: 'held', atMs: 90, call: 'a', untilMs: 190 },
      lease('b', 120, 2),
    ),
    found: ['overlap'],
  },
  {
    wrong: 'two leases at once after a failover that both have seen',
    events: history(
      { what: 'forgot', atMs: 0 },
      lease('a', 1, 1, { releaseMs: 30 }),
      lease('b', 20, 2),
    ),
    found: ['overlap'],
  },
  {
    wrong: 'a key left free while somebody waits',
    events: history(
      lease('a', 0, 1),
      { ...asks, call: 'b', waitMs: 9000 },
      { ...tells, call: 'b', atMs: 9000 },
    ),
    found: ['idle'],
  },
  {
    wrong: 'a key left free before somebody who waits gets it',
    events: history({ ...asks, call: 'b', waitMs: 20_000 }, lease('a', 9000, 1), {
      ...tells,
      call: 'b',
      atMs: 9200,
    }),
    found: ['idle'],
  },
  {
    wrong: 'a lock that nobody holds',
    events: [{ what: 'looked', atMs: 0, keys: [{ ...stored, lock: true }] }],
    found: ['leftover'],
  },
  {
    wrong: 'a key without a TTL',
    events: [{ what: 'looked', atMs: 0, keys: [{ ...stored, ttlMs: -1 }] }],
    found: ['no-ttl'],
  },
  { wrong: 'an acquire without an answer', events: [asks], found: ['unanswered'] },
  {
    wrong: 'a release without an answer',
    events: history(lease('a', 0, 1)).filter(({ what }) => what !== 'released'),
    found: ['unanswered'],
  },
  {
    wrong: 'an answer long after the limit',
    events: [asks, { ...tells, atMs: 5000 }],
    found: ['answered-late'],
  },
  {
    wrong: 'an answer after the limit, of a process that was stopped for less',
    events: [
      asks,
      { what: 'stopped', atMs: 100, process: 'p', untilMs: 1000 },
      { ...tells, atMs: 5000 },
    ],
    found: ['answered-late'],
  },
  {
    wrong: 'an error that is none of the contract',
    events: [asks, { what: 'told', atMs: 5, call: 'a', why: 'unexpected: TypeError' }],
    found: ['unexpected-answer'],
  },
  {
    wrong: 'a signal that is silent after a pause past the lease',
    events: history(lease('a', 0, 1), { what: 'woke', atMs: 500, call: 'a', aborted: false }),
    found: ['not-aborted'],
  },
  {
    wrong: 'a rejection that nobody handled',
    events: [{ what: 'unhandled', atMs: 0, process: 'p', error: 'Error' }],
    found: ['unhandled'],
  },
])('finds $wrong', ({ events, found }) => {
  expect(rules(events)).toEqual(found)
})

test.each<{ well: string; events: History }>([
  {
    well: 'two leases on either side of what the store forgot',
    events: history(
      lease('a', 0, 1, { releaseMs: 30 }),
      { what: 'forgot', atMs: 10 },
      lease('b', 20, 2),
    ),
  },
  {
    well: 'a lease after the end of one that was never given back',
    events: history(lease('a', 0, 1, { releaseMs: 300 }), lease('b', 101, 2)),
  },
  {
    well: 'a holder that finds its lease ended',
    events: history(lease('a', 0, 1, { releaseMs: 300 }), lease('b', 101, 2, { process: 'q' }), {
      what: 'held',
      atMs: 105,
      call: 'a',
      untilMs: 105,
    }),
  },
  {
    well: 'the lease, and the silence, of a process that died',
    events: history(
      lease('a', 0, 1, { releaseMs: 20 }).filter(({ what }) => !what.startsWith('releas')),
      { ...asks, call: 'b' },
      dead,
      lease('c', 13, 2, { process: 'q' }),
    ),
  },
  {
    well: 'a grant that had ended when it came',
    events: history(
      lease('a', 0, 2),
      lease('b', 5, 1, { untilMs: 4 }).filter(({ what }) => what !== 'write'),
    ),
  },
  {
    well: 'a refused write of an earlier grant',
    events: history(lease('a', 0, 1), lease('b', 20, 2), {
      what: 'write',
      atMs: 40,
      call: 'a',
      key: 'k',
      fence: 1,
      accepted: false,
    }),
  },
  {
    well: 'the same fence for another key',
    events: history(
      lease('a', 0, 1),
      lease('b', 1, 1).map((event) => ('key' in event ? { ...event, key: 'other' } : event)),
    ),
  },
  {
    well: 'a late answer of a process that was stopped',
    events: [
      asks,
      { what: 'stopped', atMs: 100, process: 'p', untilMs: 4900 },
      { ...tells, atMs: 5000 },
    ],
  },
])('allows $well', ({ events }) => {
  expect(check(events)).toEqual([])
})
