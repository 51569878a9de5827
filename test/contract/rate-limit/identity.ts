import { type Decision, fixedWindow } from '@sluice/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { casesOf, LONG_MS } from './cases.ts'
import {
  decide,
  fromStore,
  passing,
  Rig,
  remaining,
  type StoreUnderTest,
  spend,
  type Timed,
} from './rig.ts'

const long = 'x'.repeat(9_999)

/** What could forge a hash tag, a part of a key, a glob or another subject, if it were taken as it is. */
const subjects = [
  '*',
  '?',
  '[a-z]',
  'a',
  'A',
  'a ',
  ' a',
  'a*',
  '{a}',
  '{a',
  'a}',
  '{}',
  '}{',
  'a:b',
  ':a',
  'a:',
  'f',
  'a}f',
  'a}f:contract:fixed-window',
  '%2a',
  '%',
  '%25',
  '%u0000',
  '%h',
  '\n',
  '\r\n',
  '\t',
  '\0',
  'a\0',
  '\u{1f600}',
  '\u{1f601}',
  '\ud83d',
  '\ude00',
  '\ufffd',
  '\ude00\ud83d',
  'é',
  'e\u0301',
  '__proto__',
  'constructor',
  '0',
  '00',
  'null',
  'undefined',
  `${long}y`,
  `${long}z`,
  long,
]

export function identityContract(under: StoreUnderTest): void {
  describe.each(casesOf(under.algorithms))('$algorithm', ({ algorithm, policy, fromIdle }) => {
    test('R10: subjects of any characters are distinct', async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter(policy(2, LONG_MS))
      for (const [index, subject] of subjects.entries()) {
        expect(await passing(limiter, subject, 5), `subject ${index}`).toBe(fromIdle(2))
      }
    })

    test("R10: reset('*') resets the subject named * and nobody else", async () => {
      const rig = await Rig.open(under)
      const limiter = rig.limiter([
        policy(2, LONG_MS),
        fixedWindow({ name: 'b', limit: 9, windowMs: LONG_MS }),
      ])
      for (const subject of subjects) await passing(limiter, subject, 5)
      await limiter.reset('*')
      for (const subject of subjects)
        expect(await decide(limiter, subject), subject.slice(0, 30)).toBe(subject === '*')
    })

    test('R11: limiters of one name on one store share their quota', async () => {
      const rig = await Rig.open(under)
      const first = rig.limiter(policy(4, LONG_MS), { name: 'shared' })
      const second = rig.limiter(policy(4, LONG_MS), { name: 'shared' })
      await spend(first, 'a', 3)
      expect(await passing(second, 'a', 20)).toBe(fromIdle(4) - 3)
      await second.reset('a')
      expect(await decide(first, 'a', 4)).toBe(true)
    })

    test('R11: limiters of other names, and policies of other names, have quotas of their own', async () => {
      const rig = await Rig.open(under)
      const names = [
        'one',
        'two',
        'one:two',
        'o',
        'ne',
        '{one}',
        'one*',
        '\ud83d',
        long.slice(0, 200),
      ]
      for (const name of names) {
        const limiter = rig.limiter(policy(4, LONG_MS), { name })
        expect(await passing(limiter, 'a', 10), name).toBe(fromIdle(4))
      }
      for (const name of ['one', 'two', algorithm, 'a:b', 'one two', '*']) {
        const limiter = rig.limiter(policy(4, LONG_MS, name), { name: 'policies' })
        expect(await passing(limiter, 'a', 10), name).toBe(fromIdle(4))
      }
    })

    test('R11: a changed limit takes effect on the next call and keeps what is spent', async () => {
      const rig = await Rig.open(under)
      await spend(rig.limiter(policy(8, LONG_MS)), 'a', 5)
      expect(await remaining(rig.limiter(policy(20, LONG_MS)), 'a')).toEqual([fromIdle(20) - 5])
      expect(await decide(rig.limiter(policy(3, LONG_MS)), 'a')).toBe(false)
      expect(await passing(rig.limiter(policy(8, LONG_MS)), 'a', 20)).toBe(fromIdle(8) - 5)
    })

    test.each([
      ['longer', 2 * LONG_MS],
      ['shorter', LONG_MS / 2],
    ])(
      'R11: a %s window takes effect on the next call and keeps what is spent',
      async (_, windowMs) => {
        const rig = await Rig.open(under)
        await spend(rig.limiter(policy(8, LONG_MS)), 'a', 5)
        const changed = rig.limiter(policy(8, windowMs))
        expect(await passing(changed, 'a', 20)).toBe(fromIdle(8) - 5)
        const { retryAfterMs } = await changed.consume('a', { cost: 8 })
        expect(retryAfterMs).toBeLessThanOrEqual(2 * windowMs)
      },
    )

    test('R11: a longer window that refused keeps what is spent for as long as it said', async () => {
      const rig = await Rig.open(under)
      const shorter = rig.limiter(policy(4, 40))
      // A fixed window ends when it was to end; what slides counts by the window that looks.
      const longer = rig.limiter(policy(4, LONG_MS))
      let refused: Timed<Decision>
      do {
        await longer.reset('a')
        await shorter.consume('a', { cost: 4 })
        refused = await rig.timed(() => longer.consume('a', { cost: 4 }))
      } while (fromStore(refused.value).allowed) // too late, where time goes on by itself
      const { retryAfterMs } = refused.value
      const lateMs = Math.min(retryAfterMs, 100)
      await rig.advance(lateMs - 2 * rig.slackMs - 1)
      const again = await rig.timed(() => longer.consume('a', { cost: 4 }))
      if (again.until < refused.from + retryAfterMs - rig.slackMs)
        expect(again.value.allowed).toBe(false)
    })

    test('R11: a changed algorithm starts afresh', async () => {
      const rig = await Rig.open(under)
      await spend(rig.limiter(policy(4, LONG_MS, 'same')), 'a', 4)
      for (const other of casesOf(under.algorithms)) {
        const expected = other.algorithm === algorithm ? fromIdle(4) - 4 : other.fromIdle(4)
        const limiter = rig.limiter(other.policy(4, LONG_MS, 'same'))
        expect(await passing(limiter, 'a', 10), other.algorithm).toBe(expected)
      }
    })
  })

  test('R10: two different strings, whichever, are two subjects', async () => {
    const rig = await Rig.open(under)
    const limiter = rig.limiter(fixedWindow({ limit: 1, windowMs: LONG_MS }))
    const unit = fc.oneof(
      fc.integer({ min: 0, max: 0xff }),
      fc.integer({ min: 0xd7f0, max: 0xe010 }),
      fc.integer({ min: 0, max: 0xffff }),
    )
    const anyString = fc
      .array(unit, { minLength: 1, maxLength: 120, size: 'max' })
      .map((units) => String.fromCharCode(...units))
    const different = fc.uniqueArray(anyString, { minLength: 30, maxLength: 60, size: 'max' })
    await fc.assert(
      fc.asyncProperty(different, async (strings) => {
        const all = [...new Set(strings)]
        for (const subject of all) await limiter.reset(subject)
        const decisions = await Promise.all(all.map((subject) => limiter.consume(subject)))
        expect(decisions.every(({ allowed }) => allowed)).toBe(true)
      }),
      { numRuns: 20 },
    )
  })
}
