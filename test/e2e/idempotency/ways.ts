import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Turn } from './turns.ts'

/** A way to answer, and the content that the client must get. */
export interface Way {
  readonly name: string
  readonly content: string | RegExp
  answer(turn: Turn): void
}

const binary = Buffer.from(Array.from({ length: 600 }, (_, index) => index % 128))

const file = join(mkdtempSync(join(tmpdir(), 'sluice-')), 'answer.txt')
writeFileSync(file, 'from a file')

export const ways: readonly Way[] = [
  {
    name: 'JSON with fields of its own, repeated ones included',
    content: '{"id":7}',
    answer: (turn) => {
      turn.status(201, 'Made Just Now')
      turn.set('Location', '/orders/7')
      turn.set('ETag', '"v7"')
      turn.set('Cache-Control', 'private, max-age=60')
      turn.set('X-Step', ['one', 'two', 'one'])
      turn.set('Link', ['</a>; rel="next"', '</b>; rel="prev"'])
      turn.json({ id: 7 })
    },
  },
  { name: 'text', content: 'grüße', answer: (turn) => turn.bytes('grüße') },
  {
    name: 'a Buffer',
    content: binary.toString(),
    answer: (turn) => {
      turn.set('Content-Type', 'application/octet-stream')
      turn.bytes(binary)
    },
  },
  { name: '204', content: '', answer: (turn) => turn.empty(204) },
  { name: '304', content: '', answer: (turn) => turn.empty(304) },
  {
    name: '304 with a type',
    content: '',
    answer: (turn) =>
      turn.raw((res) => res.writeHead(304, { 'Content-Type': 'text/plain', ETag: '"v7"' }).end()),
  },
  {
    name: 'a redirect',
    content: /Redirecting to \/elsewhere/,
    answer: (turn) => {
      turn.redirect('/elsewhere')
    },
  },
  {
    name: 'a status that nobody registered',
    content: 'odd',
    answer: (turn) => turn.raw((res) => res.writeHead(299, 'Odd', { 'X-Odd': 'yes' }).end('odd')),
  },
  {
    name: 'res.writeHead() over fields that were set before',
    content: 'over',
    answer: (turn) =>
      turn.raw((res) => {
        res.setHeader('X-Step', ['one', 'two'])
        res.setHeader('X-Kept', 'yes')
        res.writeHead(200, { 'x-step': 'three', 'Content-Type': 'text/plain' }).end('over')
      }),
  },
  { name: 'res.end()', content: '', answer: (turn) => turn.raw((res) => res.end()) },
  {
    name: 'res.end(text, encoding)',
    content: 'h\u00ff',
    answer: (turn) => turn.raw((res) => res.end('68c3bf', 'hex')),
  },
  {
    name: 'res.write() and res.end()',
    content: 'one two three',
    answer: (turn) =>
      turn.raw((res) => {
        res.write('one ')
        res.write(Buffer.from('two '))
        setImmediate(() => res.end('three'))
      }),
  },
  {
    name: 'res.writeHead() with fields as pairs, and a length that is complete before end()',
    content: 'twelve bytes',
    answer: (turn) =>
      turn.raw((res) => {
        res.writeHead(202, ['Content-Length', '12', 'X-Step', 'one', 'Content-Type', 'text/plain'])
        res.write('twelve bytes')
        setTimeout(() => res.end(), 5)
      }),
  },
  {
    name: 'res.flushHeaders(), and writes with callbacks',
    content: 'one two three',
    answer: (turn) =>
      turn.raw((res) => {
        res.appendHeader('X-Step', 'one')
        res.appendHeader('X-Step', 'two')
        res.flushHeaders()
        res.write('one ', () => {})
        res.write('two ', 'latin1', () => {})
        // The middleware that compresses calls none of them.
        setImmediate(() => res.end('three', () => {}))
      }),
  },
  {
    name: 'a length complete before end(), with callbacks',
    content: 'one two',
    answer: (turn) =>
      turn.raw((res) => {
        res.setHeader('Content-Length', 7)
        res.write('one ')
        res.write('two', () => {})
        setImmediate(() => res.end(() => {}))
      }),
  },
  {
    name: 'corked writes',
    content: 'one two',
    answer: (turn) =>
      turn.raw((res) => {
        res.cork()
        res.write('one ')
        res.write('two')
        res.uncork()
        res.end()
      }),
  },
  {
    name: 'early hints, and the rest late',
    content: 'after hints',
    answer: (turn) =>
      turn.raw((res) => {
        res.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => res.end('after hints'))
      }),
  },
  {
    name: 'trailers',
    content: 'before trailers',
    answer: (turn) =>
      turn.raw((res) => {
        res.writeHead(200, { Trailer: 'X-Sum', 'Content-Type': 'text/plain' })
        res.write('before ')
        res.addTrailers({ 'X-Sum': '7' })
        res.end('trailers')
      }),
  },
  {
    name: 'a body of a status that has none',
    content: '',
    answer: (turn) => turn.raw((res) => res.writeHead(204).end('not sent')),
  },
  {
    name: 'end() twice',
    content: 'once',
    answer: (turn) =>
      turn.raw((res) => {
        res.end('once')
        res.end()
      }),
  },
  {
    name: 'no answer but a closed connection after it',
    content: 'bye',
    answer: (turn) => turn.raw((res) => res.setHeader('Connection', 'close').end('bye')),
  },
  {
    name: 'a Uint8Array that is used again',
    content: 'aaa',
    answer: (turn) =>
      turn.raw((res) => {
        const bytes = new TextEncoder().encode('aaa')
        res.write(bytes, () => {
          bytes.fill(98)
          res.end()
        })
      }),
  },
  {
    name: 'a piped stream',
    content: 'one two three',
    answer: (turn) => {
      turn.set('Content-Type', 'text/plain')
      turn.stream(Readable.from(['one ', 'two ', 'three']))
    },
  },
  {
    name: 'a file',
    content: 'from a file',
    answer: (turn) => {
      turn.set('Content-Type', 'text/plain')
      turn.file(file)
    },
  },
  {
    name: 'a Blob',
    content: 'from a blob',
    answer: (turn) => {
      turn.set('Content-Type', 'text/plain')
      turn.web(new Blob(['from ', 'a blob']))
    },
  },
  {
    name: 'a ReadableStream',
    content: 'one two',
    answer: (turn) => {
      turn.set('Content-Type', 'text/plain')
      turn.web(
        Readable.toWeb(Readable.from([Buffer.from('one '), Buffer.from('two')])) as ReadableStream,
      )
    },
  },
]
