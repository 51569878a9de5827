import { errorMonitor } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { CapturedBody } from './captured-body.ts'
import { ConnectionGuard, type Exchange } from './connection-guard.ts'
import { headersSentError, lookEnded } from './held-response.ts'
import { endsWithHead, fieldOf, type Head, readHead } from './response-head.ts'

/** A response as its handler gave it. */
export interface Recorded {
  readonly head: Head
  /** Undefined when it was too long to keep, or a stream of events. */
  readonly body: string | Uint8Array | undefined
}

/** What a recording tells. */
export interface WireListener {
  readonly maxBodyBytes: number
  /** The response is whole. Its last bytes leave when the promise is settled; it must not reject. */
  ended(response: Recorded): Promise<void>
  /** The response was cut off, by a stream that died or by somebody who destroyed it. At most once. */
  cut(): void
  /** Calls `then` when it makes no sense any more to wait for a handler whose client has left. */
  whenLost(then: () => void): void
}

/**
 * Records what a handler answers, where it is written: `writeHead`, `write`, `end`. Everything passes through at once,
 * except for the last content bytes. A client that leaves is kept from the handler until it has ended its response.
 */
export class WireRecorder implements Exchange {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #listener: WireListener
  readonly #below: Below
  readonly #body: CapturedBody
  readonly #sources = new Set<Readable>()
  readonly #late: (() => unknown)[] = []
  #head: Head | undefined
  #phase: 'open' | 'held' | 'done' = 'open'
  #probing = false
  #ended = false
  #gone = false
  #cut = false
  #severed = false
  #stopLooking: (() => void) | undefined

  constructor(request: IncomingMessage, response: ServerResponse, listener: WireListener) {
    this.#request = request
    this.#response = response
    this.#listener = listener
    this.#body = new CapturedBody(listener.maxBodyBytes)
    this.#below = {
      writeHead: response.writeHead,
      write: response.write,
      end: response.end,
      flushHeaders: response.flushHeaders,
      destroy: response.destroy,
    }
    Object.assign(response, {
      writeHead: (...args: unknown[]) => this.#writeHead(args),
      write: (...args: unknown[]) => this.#write(args),
      end: (...args: unknown[]) => this.#end(args),
      flushHeaders: () => this.#flushHeaders(),
      destroy: (error?: Error) => this.#destroy(error),
    })
    this.#watch()
  }

  /** Whether the handler has begun to answer. */
  get headSent(): boolean {
    return this.#head !== undefined || this.#response.headersSent
  }

  /** Records nothing from now on: everything passes. */
  stop(): void {
    this.#release()
    this.#tellClose()
  }

  #watch(): void {
    const response = this.#response
    response.on('pipe', (source: Readable) => this.#addSource(source))
    response.on('unpipe', (source: Readable) => this.#sources.delete(source))
    if (this.#request.httpVersionMajor > 1) {
      response.once('close', () => {
        this.#gone = true
      })
      return
    }
    const guard = ConnectionGuard.of(this.#request.socket)
    guard.add(this)
    response.once('finish', () => guard.remove(this))
    response.once('close', () => guard.remove(this))
  }

  #writeHead(args: readonly unknown[]): unknown {
    if (this.#probing) {
      this.#accept(readHead(this.#response, args))
      return this.#response
    }
    if (this.#stopLooking) throw headersSentError('write')
    if (this.#phase === 'done' || this.headSent) return this.#call('writeHead', args)
    // Before those below, which may change it: they will do the same to a replay.
    const head = readHead(this.#response, args)
    const result = this.#call('writeHead', args)
    this.#accept(head)
    return result
  }

  #write(args: readonly unknown[]): unknown {
    const [chunk, encoding] = args
    if (this.#phase === 'held') {
      this.#late.push(() => this.#call('write', args))
      return !this.#ended
    }
    if (this.#phase === 'done' || !isChunk(chunk)) return this.#call('write', args)
    const head = this.#sendHead()
    if (!endsWithHead(head, this.#request.method)) this.#add(chunk, encoding)
    if (this.#gone && !this.#response.destroyed) {
      const written = args.findLast(isFunction)
      if (written) process.nextTick(written)
      return true
    }
    if (!this.#isWhole(head)) return this.#call('write', args)
    this.#hold(() => this.#call('write', args))
    return true
  }

  #end(args: readonly unknown[]): unknown {
    const [chunk, encoding] = args
    if (this.#phase === 'done') return this.#endBelow(args)
    if (this.#ended) {
      this.#late.push(() => this.#call('end', args))
      return this.#response
    }
    const hasChunk = isChunk(chunk) && chunk.length > 0
    // What Node.js throws for, it throws at once.
    if (!this.#canEnd(chunk)) return this.#call('end', args)
    const head = this.#head ?? this.#probe()
    if (hasChunk && this.#phase === 'open' && !endsWithHead(head, this.#request.method))
      this.#add(chunk, encoding)
    this.#ended = true
    this.#stopLooking = lookEnded(this.#response)
    const end = () => this.#endBelow(args)
    if (this.#phase === 'held') this.#late.push(end)
    else if (this.#lacksBytes(head)) {
      this.#cutOff()
      this.#phase = 'done'
      this.#stopShadowing()
      end()
    } else this.#hold(end)
    return this.#response
  }

  #flushHeaders(): void {
    if (this.#phase === 'open') {
      const head = this.#sendHead()
      if (this.#isWhole(head)) {
        this.#hold(() => this.#call('flushHeaders', []))
        return
      }
    }
    if (this.#phase === 'held') this.#late.push(() => this.#call('flushHeaders', []))
    else this.#call('flushHeaders', [])
  }

  #destroy(error: Error | undefined): unknown {
    const go = () => this.#call('destroy', [error])
    if (this.defers(go)) return this.#response
    this.severed()
    return go()
  }

  defers(destroy: () => void): boolean {
    if (this.#phase !== 'held') return false
    this.#late.push(destroy)
    return true
  }

  severed(): void {
    if (this.#phase === 'open' && !this.#gone) this.#cutOff()
  }

  breaking(): void {
    // Frameworks destroy the stream that they send when its client leaves. It is not theirs to say.
    for (const source of this.#sources) shield(source)
  }

  left(socket: Socket): void {
    this.#gone = true
    if (this.#phase !== 'open' || this.#cut) return
    if (this.#body.overflowed && this.#sources.size === 0) return
    this.breaking()
    // A response without a connection is one that waits for its turn: it hears of no close, and can be written to.
    if (this.#response.socket === socket) this.#response.detachSocket(socket)
    this.#listener.whenLost(() => this.#tellClose())
  }

  /** Sends the head as Node.js does for a first chunk. */
  #sendHead(): Head {
    if (!this.headSent) this.#response.writeHead(this.#response.statusCode)
    this.#head ??= readHead(this.#response, [])
    return this.#head
  }

  /** Lets those above add to the head, without sending it: its length is not known below before the end. */
  #probe(): Head {
    this.#probing = true
    try {
      if (!this.#response.headersSent) this.#response.writeHead(this.#response.statusCode)
    } finally {
      this.#probing = false
    }
    this.#head ??= readHead(this.#response, [])
    return this.#head
  }

  #accept(head: Head): void {
    this.#head = head
    const type = fieldOf(head, 'content-type') ?? ''
    const tooLong = (declaredLength(head) ?? 0) > this.#listener.maxBodyBytes
    if (tooLong || /^\s*text\/event-stream\b/i.test(type)) this.#body.drop()
    this.#tellCloseIfEndless()
  }

  #add(chunk: string | Uint8Array, encoding: unknown): void {
    this.#body.add(chunk, encoding)
    this.#tellCloseIfEndless()
  }

  /** What streams past the limit may have no end: its writer is told when nobody listens. */
  #tellCloseIfEndless(): void {
    if (this.#gone && this.#body.overflowed && this.#sources.size === 0) this.#tellClose()
  }

  #isWhole(head: Head): boolean {
    if (endsWithHead(head, this.#request.method)) return true
    return this.#body.length >= (declaredLength(head) ?? Number.POSITIVE_INFINITY)
  }

  #lacksBytes(head: Head): boolean {
    if (endsWithHead(head, this.#request.method)) return false
    return this.#body.length < (declaredLength(head) ?? 0)
  }

  #canEnd(chunk: unknown): boolean {
    if (chunk && !isFunction(chunk) && !isChunk(chunk)) return false
    return this.headSent || isSendable(this.#response)
  }

  #hold(then: () => unknown): void {
    this.#phase = 'held'
    this.#late.unshift(then)
    const head = this.#head ?? readHead(this.#response, [])
    if (this.#cut) {
      this.#release()
      return
    }
    const release = () => this.#release()
    this.#listener.ended({ head, body: this.#body.content() }).then(release, release)
  }

  #release(): void {
    this.#phase = 'done'
    this.#stopShadowing()
    try {
      for (const run of this.#late.splice(0)) run()
    } catch (error) {
      this.#call('destroy', [error])
    }
  }

  #stopShadowing(): void {
    this.#stopLooking?.()
    this.#stopLooking = undefined
  }

  #endBelow(args: readonly unknown[]): unknown {
    const result = this.#call('end', this.#gone ? args.filter(isFunction) : args)
    this.#tellClose()
    return result
  }

  #cutOff(): void {
    if (this.#cut || this.#severed) return
    this.#severed = true
    // Before the head nothing is half-way: should the handler go on, its answer counts.
    this.#cut = this.#head !== undefined
    this.#listener.cut()
    this.#tellClose()
  }

  /** What Node.js would have told when the client left. */
  #tellClose(): void {
    const response = this.#response
    if (!this.#gone || this.#request.httpVersionMajor > 1 || response.destroyed) return
    response.destroyed = true
    Reflect.set(response, '_closed', true)
    response.emit('close')
  }

  #addSource(source: Readable): void {
    this.#sources.add(source)
    const died = () => {
      // Whoever hears of its death in this turn may still end the response otherwise.
      setImmediate(() => {
        if (source.readableEnded !== false || !this.#sources.has(source)) return
        if (this.#phase === 'open' && this.#head) this.#cutOff()
      })
    }
    source.once('close', died)
    source.once(errorMonitor, died)
  }

  #call(name: keyof Below, args: readonly unknown[]): unknown {
    return Reflect.apply(this.#below[name], this.#response, args)
  }
}

interface Below {
  readonly writeHead: ServerResponse['writeHead']
  readonly write: ServerResponse['write']
  readonly end: ServerResponse['end']
  readonly flushHeaders: ServerResponse['flushHeaders']
  readonly destroy: ServerResponse['destroy']
}

type Callback = (...args: unknown[]) => void

function isFunction(value: unknown): value is Callback {
  return typeof value === 'function'
}

function isChunk(value: unknown): value is string | Uint8Array {
  return typeof value === 'string' || value instanceof Uint8Array
}

function declaredLength(head: Head): number | undefined {
  const field = fieldOf(head, 'content-length')
  return field === undefined ? undefined : Number(field)
}

/** Whether Node.js can make a head of it; else it throws, and the handler must hear it. */
function isSendable(response: ServerResponse): boolean {
  const { statusCode } = response
  if (!Number.isInteger(statusCode) || statusCode < 100 || statusCode > 999) return false
  if (response.req.httpVersionMajor > 1) return true
  return !/[^\t\x20-\x7e\x80-\xff]/.test(response.statusMessage ?? '')
}

/** Keeps a stream from being destroyed in this turn. */
function shield(source: Readable): void {
  const before = Object.getOwnPropertyDescriptor(source, 'destroy')
  source.destroy = () => source
  setImmediate(() => {
    Reflect.deleteProperty(source, 'destroy')
    if (before) Object.defineProperty(source, 'destroy', before)
  })
}
