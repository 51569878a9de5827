import { once } from 'node:events'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Mishap } from '../act.ts'

/** So many copies of each order are sent, one after the other. */
export const COPIES = 50
/** A column of the drawing: one copy. */
export const EVERY_MS = 45

/** What a copy of the request got; `nothing`: its answer was cut off. */
export type Got = 'first' | 'replay' | 'running' | 'unknown' | 'nothing'

export interface Copy {
  got: Got | undefined
  /** Of an answer that says how the order ended. */
  body?: string
}

/** A copy that is still on its way. */
export interface Sent {
  /** The first bytes of its answer are there. */
  readonly half: Promise<unknown>
  hangUp(): void
  readonly done: Promise<void>
}

/** One order, under one key, and all copies of it that were sent. */
export class Order implements Disposable {
  readonly name: string
  readonly story: string
  readonly copies: Copy[] = []
  /** In copies that had been sent: when the handler began, and when it ended, and how. */
  ran: { from: number; to?: number; end?: string } | undefined
  /** What else happened, by the copies that had been sent. */
  readonly notes: { readonly at: number; readonly text: string }[] = []
  readonly #agent = new Agent({ keepAlive: true })

  constructor(name: string, story: string) {
    this.name = name
    this.story = story
  }

  send(url: string): Sent {
    const copy: Copy = { got: undefined }
    this.copies.push(copy)
    const sent = this.#post(url)
    const response = once(sent, 'response') as Promise<[IncomingMessage]>
    const done = response.then(([answer]) => receive(answer, copy)).catch(interrupted(copy))
    done.catch(() => {}) // whoever sent it looks only once the whole crowd is there
    return { half: response, hangUp: () => sent.destroy(), done }
  }

  /** One copy each `EVERY_MS`, to the servers in turn; resolves when all are answered. */
  async crowd(size: number, ...urls: readonly string[]): Promise<void> {
    const answers: Promise<void>[] = []
    for (let index = 0; index < size; index += 1) {
      await sleep(EVERY_MS)
      answers.push(this.send(urls[index % urls.length] ?? '').done)
    }
    await Promise.all(answers)
  }

  /** All copies that are left. */
  rest(url: string): Promise<void> {
    return this.crowd(COPIES - this.copies.length, url)
  }

  began(): void {
    this.ran = { from: this.copies.length - 1 }
  }

  ended(end = ''): void {
    if (this.ran) this.ran = { ...this.ran, to: this.copies.length, end }
  }

  note(text: string): void {
    this.notes.push({ at: this.copies.length, text })
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  #post(url: string): ClientRequest {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': this.name }
    const sent = request(`${url}/orders`, { method: 'POST', headers, agent: this.#agent })
    return sent.on('error', () => {}).end(JSON.stringify({ order: this.name, cents: 2500 }))
  }
}

async function receive(answer: IncomingMessage, copy: Copy): Promise<void> {
  const body = await text(answer)
  copy.got = kindOf(answer, body)
  if (answer.statusCode === 200) copy.body = body
}

function kindOf({ statusCode, headers }: IncomingMessage, body: string): Got {
  if (statusCode === 200) return headers['idempotency-replayed'] ? 'replay' : 'first'
  if (body.includes(':idempotency-in-progress"')) return 'running'
  if (body.includes(':idempotency-outcome-unknown"')) return 'unknown'
  throw new Mishap(`POST /orders was answered with ${statusCode}: ${body}`)
}

function interrupted(copy: Copy): (error: unknown) => void {
  return (error) => {
    if (error instanceof Mishap) throw error
    copy.got = 'nothing'
  }
}
