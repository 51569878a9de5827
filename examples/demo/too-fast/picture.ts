import { LIMIT, RUN_MS, WINDOW_MS } from './arrivals.ts'
import type { Contender } from './contenders.ts'
import { type Outcome, tally } from './outcome.ts'
import { COLUMNS, timeline } from './timeline.ts'

const WIDTH = 720
const HEIGHT = 238
/** The plot: columns from LEFT, passed requests above BASE, refused ones below. */
const LEFT = 24
const COLUMN = 10.5
const BASE = 126
const REQUEST = 5
const FOOT = 206

/** One contender's run as an SVG that is readable on light and dark pages: it brings its own ground. */
export function drawSvg({ title, lesson }: Contender, outcomes: readonly Outcome[]): string {
  const { passed, refused, waiting } = timeline(outcomes)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-labelledby="title lesson">
<title id="title">${title}: what passed and what was refused over time</title>
<desc id="lesson">${lesson}</desc>
<style>${STYLE}</style>
<rect class="ground" x="0.5" y="0.5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="8"/>
<text class="title" x="${LEFT}" y="28">${title}</text>
<text x="${WIDTH - LEFT}" y="28" text-anchor="end">${LIMIT} requests in ${WINDOW_MS / 1000} s; the same traffic for every algorithm</text>
${grid()}
${waitingLine(waiting)}
<path class="passed" d="${columns(passed, (count) => [BASE - count * REQUEST, count * REQUEST])}"/>
<path class="refused" d="${columns(refused, (count) => [BASE + 1, count * REQUEST])}"/>
<path class="axis" d="M${LEFT} ${BASE + 0.5}H${xAt(RUN_MS)}"/>
${fullestWindow(outcomes)}
${legend(waiting.some((count) => count > 0))}
</svg>
`
}

const STYLE = `
text{font:12px system-ui,sans-serif;fill:#57606a}
.title{font-size:16px;font-weight:600;fill:#1f2328}
.ground{fill:#fff;stroke:#d0d7de}
.passed{fill:#1a7f37}.refused{fill:#cf222e}.waiting{fill:#9a6700;fill-opacity:.22;stroke:#9a6700}
.axis,.bracket{fill:none;stroke:#57606a}.grid{fill:none;stroke:#d8dee4;stroke-dasharray:2 3}
.count{font-weight:600;fill:#1f2328}
@media(prefers-color-scheme:dark){
text{fill:#9198a1}.title,.count{fill:#f0f6fc}
.ground{fill:#0d1117;stroke:#3d444d}
.passed{fill:#3fb950}.refused{fill:#f85149}.waiting{fill:#d29922;stroke:#d29922}
.axis,.bracket{stroke:#9198a1}.grid{stroke:#3d444d}
}
`

/** One line a window's length, with its second below. */
function grid(): string {
  const lines: string[] = []
  for (let ms = 0; ms <= RUN_MS; ms += WINDOW_MS) {
    const x = xAt(ms)
    lines.push(`<path class="grid" d="M${x} 56V${FOOT - 14}"/>`)
    lines.push(`<text x="${x}" y="${FOOT}" text-anchor="middle">${ms / 1000} s</text>`)
  }
  return lines.join('\n')
}

/** The shape of bars that stand for numbers; `extent` gives a bar's upper edge and height. */
function columns(values: readonly number[], extent: (count: number) => [number, number]): string {
  return values
    .flatMap((count, column) => {
      if (count === 0) return []
      const [y, height] = extent(count)
      return `M${xOf(column) + 1} ${y}h${COLUMN - 2}v${height}h${2 - COLUMN}z`
    })
    .join('')
}

function waitingLine(values: readonly number[]): string {
  if (values.every((count) => count === 0)) return ''
  const steps = values.map((count, column) => `V${BASE - count * REQUEST}H${xOf(column + 1)}`)
  return `<path class="waiting" d="M${LEFT} ${BASE}${steps.join('')}V${BASE}z"/>`
}

/** A bracket over the window's length in which most passed, with their number. */
function fullestWindow(outcomes: readonly Outcome[]): string {
  const { fromMs, passed } = tally(outcomes, WINDOW_MS).fullest
  const [left, right] = [xAt(fromMs), xAt(fromMs + WINDOW_MS)]
  return `<path class="bracket" d="M${left} 58v-6H${right}v6"/>
<text class="count" x="${(left + right) / 2}" y="47" text-anchor="middle">${passed} passed in ${WINDOW_MS / 1000} s</text>`
}

function legend(withWaiting: boolean): string {
  const entries = ['passed', 'refused', ...(withWaiting ? ['waiting'] : [])]
  return entries
    .map((name, index) => {
      const x = LEFT + index * 80
      return `<rect class="${name}" x="${x}" y="${FOOT + 9}" width="10" height="10"/><text x="${x + 16}" y="${FOOT + 18}">${name}</text>`
    })
    .join('\n')
}

function xOf(column: number): number {
  return LEFT + column * COLUMN
}

function xAt(ms: number): number {
  return Math.round(10 * xOf((ms / RUN_MS) * COLUMNS)) / 10
}
