import { answerParent } from '../../../support/answer-parent.ts'

/** Tells its wall clock, read in the two usual ways, and its monotonic clock; throws when asked to. */
answerParent((request: 'clocks' | 'throw') => {
  if (request === 'throw') throw new TypeError('as asked')
  return {
    date: Date.parse(new Date().toISOString()),
    now: Date.now(),
    monotonic: performance.timeOrigin + performance.now(),
    fixed: new Date(5).getTime(),
    isDate: new Date() instanceof Date,
    args: process.argv.slice(2),
  }
})
