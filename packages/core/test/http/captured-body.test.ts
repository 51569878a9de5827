import { expect, it } from 'vitest'
import { CapturedBody } from '../../src/http/captured-body.ts'

it('I5: keeps what was written, whatever becomes of the buffer', () => {
  const body = new CapturedBody(100)
  const buffer = Buffer.from('one ')
  body.add(buffer, undefined)
  buffer.write('two ')
  body.add(buffer, undefined)
  body.add('c3a9', 'hex')
  expect(String(body.content())).toBe('one two é')
  expect(body.length).toBe(10)
})

it('I5: keeps a single text as it is', () => {
  const body = new CapturedBody(100)
  body.add('grüße', 'UTF-8')
  expect(body.content()).toBe('grüße')
  expect(body.length).toBe(7)
})

it('I7: keeps nothing past its limit, and counts on', () => {
  const body = new CapturedBody(5)
  body.add('12345', undefined)
  expect(body.content()).toBe('12345')
  body.add('6', undefined)
  body.add('7', undefined)
  expect(body.content()).toBeUndefined()
  expect(body.length).toBe(7)
})
