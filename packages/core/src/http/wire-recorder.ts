import type { IncomingMessage, ServerResponse } from 'node:http'
import { CapturedBody } from './captured-body.ts'
import { ConnectionGuard, type Exchange } from './connection-guard.ts'
import { close, headersSentError, lookEnded } from './held-response.ts'
import { detach, discardWrites, hideClose } from './hidden-close.ts'
import { PipedSources } from './piped-sources.ts'
import { bodyLengthOf, endsWithHead, type Head, isTooLong, readHead } from './response-head.ts'
import { canEnd, isChunk, isFunction, type Methods, override, written } from './response-methods.ts'
import type { WireListener } from './wire-listener.ts'

/**
 * Records what a handler answers, where it is written: `writeHead`, `write`, `end`. Everything passes through at once,
 * except for the last content bytes. A client that leaves is kept from the handler until it has ended its response.
 */
export class WireRecorder implements Exchange {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #listener: WireListener
  readonly #below: Methods
  readonly #body: CapturedBody
  readonly #sources: PipedSources
  /** What must wait for the last bytes, these first. */
  readonly #late: (() => unknown)[] = []
  #head: Head | undefined
  /** `held`: the response is whole, and its last bytes wait. `done`: everything passes. */
  #phase: 'open' | 'held' | 'done' = 'open'
  #probing = false
  /** While the handler has ended the response and its last bytes wait. */
  #stopLookingEnded: (() => void) | undefined
  #gone = false
  /** Tells the response that its client has gone, if it has. */
  readonly #tellClose: () => void
  /** `half-way`: nothing that follows makes it whole. `early`: should the handler go on, its answer counts. */
  #cut: 'early' | 'half-way' | undefined

  constructor(request: IncomingMessage, response: ServerResponse, listener: WireListener) {
    this.#request = request
    this.#response = response
    this.#listener = listener
    this.#body = new CapturedBody(listener.maxBodyBytes)
    this.#sources = new PipedSources(response, () => {
      // Before the head, somebody can still answer that it failed.
      if (this.#phase === 'open' && this.#head) this.#cutOff()
    })
    this.#below = override(response, {
      writeHead: (args) => this.#writeHead(args),
      write: (args) => this.#write(args),
      end: (args) => this.#end(args),
      flushHeaders: () => this.#flushHeaders(),
      destroy: (args) => this.#destroy(args),
    })
    this.#tellClose = this.#watch()
  }

  /** Whether the handler has begun to answer. */
  get headSent(): boolean {
    return this.#head !== undefined || this.#response.headersSent
  }

  /** Records nothing from now on. */
  stop(): void {
    this.#release()
    this.#tellClose()
  }

  /** While the last bytes wait: `write` begins another answer, and gives its body. A head that has left cannot be taken back. */
  replace(write: () => string): void {
    const answer = () => this.#endBelow([write()])
    const go = () => (this.#response.headersSent ? this.#below.destroy([]) : answer())
    this.#late.splice(0, this.#late.length, go)
  }

  #watch(): () => void {
    this.#response.on('close', () => {
      this.#gone = true
    })
    const isHttp2 = this.#request.httpVersionMajor > 1
    const show = isHttp2 ? hideClose(this.#response, () => this.#hides()) : close
    if (!isHttp2) ConnectionGuard.of(this.#request.socket).watch(this, this.#response)
    return () => this.#gone && show(this.#response)
  }

  #writeHead(args: readonly unknown[]): unknown {
    if (this.#probing) {
      this.#accept(readHead(this.#response, args))
      return this.#response
    }
    if (this.#stopLookingEnded) throw headersSentError('write')
    if (this.#phase === 'done' || this.headSent) return this.#below.writeHead(args)
    // Read before those below change it: they will do the same to a replay.
    const head = readHead(this.#response, args)
    const result = this.#below.writeHead(args)
    this.#accept(head)
    return result
  }

  #write(args: readonly unknown[]): unknown {
    const [chunk, encoding] = args
    if (this.#phase === 'held') {
      this.#late.push(() => this.#below.write(args))
      return this.#stopLookingEnded === undefined
    }
    if (this.#phase === 'done' || !isChunk(chunk)) return this.#below.write(args)
    const head = this.#sendHead()
    this.#add(head, chunk, encoding)
    if (this.#gone && !this.#response.destroyed) return written(args)
    if (!this.#isWhole(head)) return this.#below.write(args)
    this.#hold(head, () => this.#below.write(args))
    return true
  }

  #end(args: readonly unknown[]): unknown {
    const [chunk, encoding] = args
    if (this.#phase === 'done') return this.#endBelow(args)
    if (this.#stopLookingEnded) {
      this.#late.push(() => this.#below.end(args))
      return this.#response
    }
    if (!canEnd(this.#response, chunk)) return this.#below.end(args)
    const head = this.#head ?? this.#probe()
    if (isChunk(chunk) && this.#phase === 'open') this.#add(head, chunk, encoding)
    if (!this.#isWhole(head) && bodyLengthOf(this.#request, head) !== undefined) this.#cutOff()
    this.#stopLookingEnded = lookEnded(this.#response)
    if (this.#phase === 'held') this.#late.push(() => this.#endBelow(args))
    else this.#hold(head, () => this.#endBelow(args))
    return this.#response
  }

  #flushHeaders(): unknown {
    const flush = () => this.#below.flushHeaders([])
    if (this.#phase === 'held') return this.#late.push(flush)
    const head = this.#phase === 'open' ? this.#sendHead() : undefined
    return head && this.#isWhole(head) ? this.#hold(head, flush) : flush()
  }

  #destroy(args: readonly unknown[]): unknown {
    const go = () => this.#below.destroy(args)
    if (this.defers(go)) return this.#response
    if (this.#phase === 'open') this.#cutOff()
    return go()
  }

  defers(destroy: () => void): boolean {
    if (this.#phase !== 'held') return false
    this.#late.push(destroy)
    return true
  }

  /** The handler failed, say. Before the head nothing is half-way: it goes on, as if its client had left. */
  severed(): void {
    if (this.#phase === 'open' && this.headSent) this.#cutOff()
  }

  /** Frameworks destroy the stream that they send when its client leaves. The handler may want it to go on. */
  breaking(): void {
    this.#sources.shield()
  }

  left(): void {
    if (this.#hides()) detach(this.#response)
  }

  /** Whether it is kept from the handler that the client has gone, as it has by now. */
  #hides(): boolean {
    this.#gone = true
    if (this.#phase !== 'open' || this.#cut || this.#mayBeEndless()) return false
    this.breaking()
    discardWrites(this.#response)
    this.#listener.whenLost(() => this.#tellClose())
    return true
  }

  /** Sends the head as Node.js does for a first chunk. Where somebody sent it past this recorder, it is read late. */
  #sendHead(): Head {
    if (!this.headSent) this.#response.writeHead(this.#response.statusCode)
    this.#head ??= readHead(this.#response, [])
    return this.#head
  }

  /** Lets those above add to the head, but sends nothing: those below learn the length with the end. */
  #probe(): Head {
    this.#probing = true
    try {
      return this.#sendHead()
    } finally {
      this.#probing = false
    }
  }

  #accept(head: Head): void {
    this.#head = head
    if (isTooLong(head, this.#listener.maxBodyBytes)) this.#body.drop()
    if (this.#mayBeEndless()) this.#tellClose()
  }

  #add(head: Head, chunk: string | Uint8Array, encoding: unknown): void {
    if (endsWithHead(this.#request, head)) return
    this.#body.add(chunk, encoding)
    if (this.#mayBeEndless()) this.#tellClose()
  }

  /** What is streamed past the limit may have no end: its writer must hear that nobody listens. */
  #mayBeEndless(): boolean {
    return this.#body.overflowed && this.#sources.isEmpty
  }

  #isWhole(head: Head): boolean {
    const length = bodyLengthOf(this.#request, head)
    return length !== undefined && this.#body.length >= length
  }

  #hold(head: Head, then: () => unknown): void {
    this.#phase = 'held'
    this.#late.unshift(then)
    const release = () => this.#release()
    if (this.#cut === 'half-way') release()
    else this.#listener.ended({ head, body: this.#body.content() }).then(release, release)
  }

  #release(): void {
    this.#phase = 'done'
    this.#stopLookingEnded?.()
    this.#stopLookingEnded = undefined
    try {
      for (const run of this.#late.splice(0)) run()
    } catch (error) {
      this.#below.destroy([error])
    }
  }

  #endBelow(args: readonly unknown[]): unknown {
    try {
      return this.#below.end(this.#gone ? args.filter(isFunction) : args)
    } finally {
      this.#tellClose()
    }
  }

  #cutOff(): void {
    if (this.#cut) return
    this.#cut = this.headSent ? 'half-way' : 'early'
    this.#listener.cut()
    this.#tellClose()
  }
}
