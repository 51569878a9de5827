import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  fingerprintOf,
  fingerprintWith,
  type RequestDescription,
} from '../../src/idempotency/fingerprint.ts'

const plain: RequestDescription = {
  method: 'POST',
  url: '/a?x=1&y=2',
  contentType: 'application/json',
  content: { kind: 'none' },
}

async function areSame(
  a: Partial<RequestDescription>,
  b: Partial<RequestDescription>,
): Promise<boolean> {
  return (await fingerprintOf({ ...plain, ...a })) === (await fingerprintOf({ ...plain, ...b }))
}

const bytes = (text: string) => ({ content: { kind: 'bytes', bytes: Buffer.from(text) } as const })

describe('fingerprintOf', () => {
  it.each([
    ['/a?x=1&y=2', '/a?y=2&x=1', true],
    ['/a?x=1&x=2', '/a?x=2&x=1', false],
    ['/a?x=1&y=2&x=3', '/a?y=2&x=1&x=3', true],
    ['/a?x=1', '/a?x=2', false],
    ['/a', '/b', false],
    ['/a?', '/a', true],
    ['http://host/a?x=1', '/a?x=1', true],
    ['/a?x=1&y', '/a?x=1%26y', false],
    ['/a?b', '/a%3Fb', false],
  ])('I3: %s and %s are the same: %s', async (a, b, same) => {
    expect(await areSame({ url: a }, { url: b })).toBe(same)
  })

  it.each([
    ['application/json', 'application/json; charset=UTF-8', true],
    ['Application/JSON', 'application/json', true],
    ['text/plain; charset=utf-16', 'text/plain', false],
    ['multipart/form-data; boundary=a', 'multipart/form-data; boundary=b', true],
  ])('I3: the types %s and %s are the same: %s', async (a, b, same) => {
    expect(await areSame({ contentType: a }, { contentType: b })).toBe(same)
  })

  it('I3: JSON counts by content, what is no JSON byte by byte', async () => {
    expect(await areSame(bytes('{"a":1,"b":2}'), bytes('{ "b": 2.0, "a": 1 }'))).toBe(true)
    expect(await areSame(bytes('{"a":1'), bytes('{"a":1 '))).toBe(false)
    expect(await areSame(bytes('[9007199254740993]'), bytes('[9007199254740992]'))).toBe(false)
    const contentType = 'application/octet-stream'
    expect(
      await areSame({ contentType, ...bytes('{"a":1}') }, { contentType, ...bytes('{ "a":1}') }),
    ).toBe(false)
  })

  it('I3: forms count by name, in order within a name', async () => {
    const contentType = 'application/x-www-form-urlencoded'
    const form = (text: string) => ({ contentType, ...bytes(text) })
    expect(await areSame(form('a=1&b=2'), form('b=2&a=1'))).toBe(true)
    expect(await areSame(form('a=1&a=2'), form('a=2&a=1'))).toBe(false)
  })

  it('I3: multipart counts by fields and files, without the boundary', async () => {
    const form = (boundary: string, value: string, file = 'content', filename = 'a.txt') => ({
      contentType: `multipart/form-data; boundary="${boundary}"`,
      ...bytes(
        `--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n${value}\r\n` +
          `--${boundary}\r\nContent-Disposition: form-data; name="f"; filename="${filename}"\r\nContent-Type: text/plain\r\n\r\n${file}\r\n` +
          `--${boundary}--\r\n`,
      ),
    })
    expect(await areSame(form('one', '1'), form('two', '1'))).toBe(true)
    expect(await areSame(form('one', '1'), form('two', '2'))).toBe(false)
    expect(await areSame(form('one', '1'), form('two', '1', 'changed'))).toBe(false)
    expect(await areSame(form('one', '1'), form('two', '1', 'content', 'b.txt'))).toBe(false)
    expect(await areSame(form('one', '1\r\n--on'), form('two', '1\r\n--on'))).toBe(true)
  })

  it('I3: multipart whose content looks like a delimiter, or whose names are no UTF-8, counts all of it', async () => {
    const form = (boundary: string, name: string, content: string) => ({
      contentType: `multipart/form-data; boundary=${boundary}`,
      content: {
        kind: 'bytes',
        bytes: Buffer.from(
          `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n--${boundary}--\r\n`,
          'latin1',
        ),
      } as const,
    })
    const inner = (text: string) =>
      `1\r\n--x${text}\r\nContent-Disposition: form-data; name="b"\r\n\r\n2`
    expect(await areSame(form('x', 'a', inner('y')), form('x', 'a', inner('z')))).toBe(false)
    expect(await areSame(form('x', 'a', inner('y')), form('x', 'a', inner('y')))).toBe(true)
    expect(await areSame(form('x', 'a\xe8', '1'), form('x', 'a\xe9', '1'))).toBe(false)
    expect(await areSame(form('x', 'a\xe8', '1'), form('y', 'a\xe8', '1'))).toBe(true)
  })

  it('I3: multipart takes no longer for a field that was made to take long', async () => {
    const long = `--x\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: a${' '.repeat(500_000)}b\r\n\r\n1\r\n--x--\r\n`
    const contentType = 'multipart/form-data; boundary=x'
    expect(await areSame({ contentType, ...bytes(long) }, { contentType, ...bytes(long) })).toBe(
      true,
    )
  })

  it.each(['application/json', 'application/x-www-form-urlencoded', 'text/plain'])(
    'I3: %s that is no UTF-8 counts byte by byte',
    async (contentType) => {
      const body = (byte: number) => ({
        contentType,
        content: { kind: 'bytes', bytes: Buffer.from([0x22, byte, 0x22]) } as const,
      })
      expect(await areSame(body(0xe8), body(0xe9))).toBe(false)
    },
  )

  it('I3: null is not the empty object', async () => {
    const parsed = (value: unknown) => ({ content: { kind: 'parsed', value, files: [] } as const })
    expect(await areSame(parsed(null), parsed({}))).toBe(false)
  })

  it('I3: files of a parser count by their bytes, in memory or on disk', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'sluice-')), 'upload')
    await writeFile(path, 'content')
    const upload = (content: { bytes?: Uint8Array; path?: string }) => ({
      content: {
        kind: 'parsed',
        value: { a: '1' },
        files: [
          {
            field: 'f',
            filename: 'a.txt',
            type: 'text/plain',
            bytes: undefined,
            path: undefined,
            ...content,
          },
        ],
      } as const,
    })
    expect(await areSame(upload({ path }), upload({ bytes: Buffer.from('content') }))).toBe(true)
    expect(await areSame(upload({ path }), upload({ bytes: Buffer.from('changed') }))).toBe(false)
    await expect(fingerprintOf({ ...plain, ...upload({}) })).rejects.toThrow('`fingerprint`')
  })

  it('I3: an empty body is not a missing one', async () => {
    expect(
      await areSame(
        { content: { kind: 'none' } },
        { content: { kind: 'parsed', value: {}, files: [] } },
      ),
    ).toBe(false)
  })
})

describe('fingerprintWith', () => {
  it('I3: counts method, path and what the application says', () => {
    const of = (own: string | Uint8Array, method: string, url: string) =>
      fingerprintWith(own, { method, url })
    expect(of('x', 'POST', '/a?b')).toBe(of('x', 'POST', '/a?c'))
    expect(of('x', 'POST', '/a')).not.toBe(of('x', 'POST', '/b'))
    expect(of('x', 'POST', '/a')).not.toBe(of('x', 'PUT', '/a'))
    expect(of('x', 'POST', '/a')).not.toBe(of('y', 'POST', '/a'))
    expect(of(new Uint8Array([1]), 'POST', '/a')).not.toBe(of(new Uint8Array([2]), 'POST', '/a'))
  })
})
