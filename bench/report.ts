import { p99Ms, type Result, rate, redisCpuUs, type Sample } from './harness.ts'
import { type Row, type Target, type Value, verdict } from './rows.ts'
import { median } from './statistics.ts'
import type { Report, Suite } from './suites/suite.ts'
import type { Table } from './table.ts'

export interface Ran {
  readonly suite: Suite
  readonly report: Report
}

/** The table of the requirements. */
export function ratioTable(ran: readonly Ran[], quick: boolean): Table {
  return {
    head: ['measure', 'target', 'ours', 'others', 'met'],
    body: ran.flatMap(({ report }) => report.rows).map((row) => ratioLine(row, quick)),
  }
}

/** What the ratios were made of: medians over the rounds. */
export function absoluteTable({ report }: Ran): Table {
  return {
    head: ['contender', 'rounds', 'operations/s', 'p50 ms', 'p99 ms', 'Redis CPU µs/operation'],
    body: [...(report.results?.values() ?? [])].map(absoluteLine),
  }
}

/** Rounds of a quick run are too short to judge by, which the question mark says. */
function ratioLine(row: Row, quick: boolean): string[] {
  const { measure, target, unit, ours, others, spread } = row
  const range =
    spread === undefined || typeof ours === 'string'
      ? ''
      : `\n(${spread.map((value) => value.toFixed(2)).join('–')})`
  return [
    measure,
    targetText(target, unit),
    text(ours, unit) + range,
    others.map(({ name, value }) => `${name} ${text(value, unit)}`).join('\n'),
    quick && row.spread !== undefined ? `${verdict(row)}?` : verdict(row),
  ]
}

function absoluteLine({ name, samples, problem }: Result): string[] {
  if (problem !== undefined) return [name, '', `invalid: ${oneLine(problem)}`, '', '', '']
  const middle = (pick: (sample: Sample) => number, digits: number) => {
    const value = median(samples.map(pick))
    return Number.isNaN(value) ? '–' : value.toFixed(digits)
  }
  return [
    name,
    String(samples.length),
    middle(rate, 0),
    middle(({ p50Ms }) => p50Ms, 3),
    middle(p99Ms, 3),
    middle(redisCpuUs, 1),
  ]
}

function targetText(target: Target, unit: Row['unit']): string {
  if ('atLeast' in target) return `≥ ${target.atLeast}${suffix(unit)}`
  if ('exactly' in target) return `= ${target.exactly}${suffix(unit)}`
  return `≤ ${target.atMost}${suffix(unit)}`
}

function text(value: Value, unit: Row['unit']): string {
  if (typeof value === 'string') return `invalid: ${oneLine(value)}`
  return unit === 'times'
    ? `${value.toFixed(2)}${suffix(unit)}`
    : `${value.toFixed(1)}${suffix(unit)}`
}

function suffix(unit: Row['unit']): string {
  return unit === 'times' ? ' ×' : ` ${unit}`
}

function oneLine(problem: string): string {
  return problem.replaceAll(/[\s|]+/g, ' ').slice(0, 70)
}
