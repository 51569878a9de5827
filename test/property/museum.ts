import type { PolicyNumbers, Step, Trace, Wait } from './traces.ts'

const consume = (units = 1): Step => ({ do: 'consume', percent: 0, units })
const consumeShare = (percent: number): Step => ({ do: 'consume', percent, units: 0 })
const refund = (units = 1): Step => ({ do: 'refund', percent: 0, units })
const advance = (ms: number): Step => ({ do: 'advance', percent: 0, ms })
const advanceShare = (percent: number): Step => ({ do: 'advance', percent, ms: 0 })
const wait = (what: Wait): Step => ({ do: 'await', what, early: 0, units: 1 })
const early = (what: Wait): Step => ({ do: 'await', what, early: 1, units: 1 })
const change = (limit: number, windowMs: number): Step => ({
  do: 'change',
  limit,
  windowMs,
  amount: 1,
})

const TEN_YEARS_MS = 3_653 * 86_400_000
const LARGEST = 1_000_000_000

function policy(
  algorithm: PolicyNumbers['algorithm'],
  limit: number,
  windowMs: number,
  amount = 1,
): readonly PolicyNumbers[] {
  return [{ algorithm, limit, amount, windowMs }]
}

/** Traces that some version of this package, or a slip in it, decided wrongly. The search may miss them; these runs do not. */
export const museum: readonly (readonly [string, Trace])[] = [
  [
    'a fixed window that was refunded to nothing begins anew',
    {
      policies: policy('fixed-window', 1, 100),
      steps: [
        consume(),
        advance(50),
        refund(),
        consume(),
        advance(60),
        consume(),
        wait('retryAfterMs'),
      ],
    },
  ],
  [
    'a fixed window that was shortened, refused, and lengthened again ends by the short one',
    {
      policies: policy('fixed-window', 1, 1000),
      steps: [
        consume(),
        change(1, 50),
        consume(),
        change(1, 1000),
        consume(),
        wait('retryAfterMs'),
      ],
    },
  ],
  [
    'a sliding window of which a refund left only the previous count begins anew when that is over',
    {
      policies: policy('sliding-window', 4, 100),
      steps: [
        consume(2),
        advance(120),
        consume(),
        refund(),
        advance(85),
        consume(),
        advance(95),
        consume(4),
      ],
    },
  ],
  [
    'a sliding window that refused keeps both its counts as they were, for the next policy to weigh',
    {
      policies: policy('sliding-window', 2, 50),
      steps: [consume(2), advance(60), consume(2), change(2, 400), consume(), wait('retryAfterMs')],
    },
  ],
  [
    'a sliding window is kept for two windows after its last call, should it be lengthened',
    {
      policies: policy('sliding-window', 9, 100),
      steps: [
        consume(2),
        advance(99),
        consume(),
        advance(150),
        change(9, 1000),
        consume(),
        consume(7),
      ],
    },
  ],
  [
    'a sliding window turns exactly after one window, and is over exactly after two',
    {
      policies: policy('sliding-window', 3, 50),
      steps: [
        consume(),
        advance(20),
        consume(2),
        advance(30),
        consume(),
        wait('resetMs'),
        wait('resetMs'),
        consume(3),
      ],
    },
  ],
  [
    'a sliding window weighs by integers where the product of count and window needs 60 bits',
    {
      policies: policy('sliding-window', LARGEST, TEN_YEARS_MS),
      steps: [
        consumeShare(100),
        ...[103, 9, 7, 11, 13, 29].flatMap((part) => [
          advanceShare(part),
          consume(),
          wait('nextMs'),
        ]),
      ],
    },
  ],
  [
    'a log of which a refund took the newest entry is kept for as long as the one before',
    {
      policies: policy('sliding-log', 3, 100),
      steps: [
        consume(),
        advance(90),
        consume(),
        refund(),
        advance(20),
        change(3, 1000),
        consume(3),
        consume(2),
      ],
    },
  ],
  [
    'a log that was lengthened after a refusal remembers what the refusal looked at',
    {
      policies: policy('sliding-log', 2, 100),
      steps: [
        consume(),
        advance(50),
        consume(),
        advance(60),
        consume(2),
        change(2, 1000),
        consume(),
      ],
    },
  ],
  [
    'a log of which a refund took something has forgotten what left its window before',
    {
      policies: policy('sliding-log', 5, 100),
      steps: [
        consume(),
        advance(50),
        consume(2),
        advance(60),
        refund(),
        change(5, 1000),
        consume(4),
        consume(5),
      ],
    },
  ],
  [
    'a log of ten years tells an entry of eighteen from a new one',
    {
      policies: policy('sliding-log', 3, TEN_YEARS_MS),
      steps: [consume(), advanceShare(99), consume(), advanceShare(98), consume(2), consume()],
    },
  ],
  [
    'a log whose limit became 0 has nothing left that could grow',
    { policies: policy('sliding-log', 1, 100), steps: [consume(), change(0, 100), consume()] },
  ],
  [
    'a bucket counts to the last of 42,266 tokens that take seven years each',
    {
      policies: policy('token-bucket', 42_266, 221_696_394_183),
      steps: [
        consume(),
        consume(2),
        wait('nextMs'),
        consumeShare(99),
        wait('nextMs'),
        refund(3),
        wait('nextMs'),
      ],
    },
  ],
  [
    'a bucket of a rate in large primes gives each token back in its millisecond',
    {
      policies: policy('leaky-bucket', LARGEST, TEN_YEARS_MS - 1, 999_999_937),
      steps: [
        consumeShare(100),
        consume(2),
        ...Array.from({ length: 8 }, () => wait('nextMs')),
        wait('resetMs'),
      ],
    },
  ],
  [
    'a bucket forgets a token in its millisecond, where the product of rate and time needs 62 bits',
    {
      policies: policy('token-bucket', LARGEST / 10, 31_561_920_009, LARGEST / 10),
      steps: Array.from({ length: 12 }, () => [
        consume(),
        early('resetMs'),
        early('nextMs'),
        wait('nextMs'),
        wait('resetMs'),
      ]).flat(),
    },
  ],
  ...(['sliding-log', 'sliding-window'] as const).map((algorithm): readonly [string, Trace] => [
    `what a longer window refuses for, it keeps: ${algorithm}`,
    {
      policies: policy(algorithm, 1, 100),
      steps: [
        consume(),
        advance(90),
        change(1, 1000),
        consume(),
        advance(120),
        wait('retryAfterMs'),
      ],
    },
  ]),
]
