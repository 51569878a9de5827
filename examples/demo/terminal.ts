/** What switches a colour on, and what switches it off (ECMA-48, SGR). */
const COLOURS = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] }

export type Colour = keyof typeof COLOURS

/** Where the demo draws: 80 columns, in colour and with a moving picture on a terminal, plainly in a pipe. */
export class Terminal {
  readonly #out: NodeJS.WriteStream
  readonly #moves: boolean
  readonly #colours: boolean
  #shown = 0

  constructor(out: NodeJS.WriteStream) {
    this.#out = out
    this.#moves = out.isTTY && process.env['TERM'] !== 'dumb'
    this.#colours = out.isTTY && out.hasColors() && !process.env['NO_COLOR']
  }

  print(lines: readonly string[]): void {
    this.#out.write(`${lines.join('\n')}\n`)
  }

  bold(text: string): string {
    return this.paint('bold', text)
  }

  paint(colour: Colour, text: string): string {
    const [on, off] = COLOURS[colour]
    return this.#colours ? `\x1b[${on}m${text}\x1b[${off}m` : text
  }

  /** Draws over what the last call has drawn; nothing at all removes it. In a pipe it does nothing. */
  move(lines: readonly string[]): void {
    if (!this.#moves) return
    const back = this.#shown > 0 ? `\x1b[${this.#shown}A\x1b[J` : ''
    const fitting = lines.slice(0, this.#out.rows - 1)
    this.#out.write(back + fitting.map((line) => `${line}\n`).join(''))
    this.#shown = fitting.length
  }
}
