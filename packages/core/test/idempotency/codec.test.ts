import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeResponse, encodeResponse } from '../../src/idempotency/codec.ts'
import { slotOf, slotTag } from '../../src/redis/slots.ts'

const response = fc.record({
  status: fc.integer({ min: 100, max: 999 }),
  headers: fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }))),
  body: fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array()),
})

test('I5: any response comes back as it was, byte for byte', () => {
  fc.assert(
    fc.property(response, fc.option(fc.string()), (given, reason) => {
      const stored = reason === null ? given : { ...given, reason }
      const back = decodeResponse(Buffer.from(encodeResponse(stored)))
      expect({ ...back, body: '' }).toEqual({ ...stored, body: '' })
      expect(typeof back.body).toBe(typeof stored.body)
      const bytes = (body: Uint8Array | string) => Buffer.from(body as string)
      expect(bytes(back.body).equals(bytes(stored.body))).toBe(true)
    }),
  )
})

test('I5: a body adds its own bytes to a record, and nothing else', () => {
  const empty = { status: 200, headers: [], body: new Uint8Array() }
  const none = Buffer.byteLength(encodeResponse(empty))
  const body = new Uint8Array(1000).fill(0xff)
  expect(Buffer.byteLength(encodeResponse({ ...empty, body }))).toBe(none + 1000)
  expect(none).toBeLessThan(30)
})

test('a slot is computed as the specification of Redis Cluster says', () => {
  expect(slotOf('123456789')).toBe(0x31c3)
  expect(slotOf('sluice:{123456789}:a')).toBe(0x31c3)
  expect(slotOf('foo{}{bar}')).toBe(slotOf('foo{}{bar}'))
  expect(slotOf('{a}{b}')).toBe(slotOf('a'))
  expect(slotOf('{}')).not.toBe(slotOf(''))
})

test('every slot has a tag of its own', () => {
  for (let slot = 0; slot < 16_384; slot++) expect(slotOf(`x{${slotTag(slot)}}`)).toBe(slot)
})
