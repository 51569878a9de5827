import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addressKey } from '../../src/index.ts'

describe('R23: the partition key of an address', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:51234', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:443', '192.0.2.7'],
    ['2001:db8:7:ab12::1', '2001:db8:7:ab00::/56'],
    ['2001:DB8:0007:abFF:1:2:3:4', '2001:db8:7:ab00::/56'],
    ['[2001:db8:7:ab12::1]:443', '2001:db8:7:ab00::/56'],
    ['[2001:db8:7:ab12::1]', '2001:db8:7:ab00::/56'],
    ['fe80::1%eth0', 'fe80:0:0:0::/56'],
    ['::1', '0:0:0:0::/56'],
    ['::', '0:0:0:0::/56'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/56'],
  ])('of %s is %s', (address, key) => {
    expect(addressKey(address)).toBe(key)
  })

  it.each([
    [1, '0::/1'],
    [16, '2001::/16'],
    [32, '2001:db8::/32'],
    [49, '2001:db8:7:8000::/49'],
    [64, '2001:db8:7:ab12::/64'],
    [128, '2001:db8:7:ab12:0:0:0:1/128'],
  ])('keeps %d bits when asked to', (prefix, key) => {
    expect(addressKey(prefix === 49 ? '2001:db8:7:8b12::1' : '2001:db8:7:ab12::1', prefix)).toBe(
      key,
    )
  })

  it('is one for all clients without an address, and none that an address could have', () => {
    expect(addressKey(undefined)).toBe(addressKey(''))
    expect(addressKey(undefined)).not.toBe(addressKey('unknown'))
  })

  it('is, of what is no address, the text itself', () => {
    for (const text of ['unknown', '_hidden', 'a:b:c', '[nonsense', '::ffff:999.1.1.1'])
      expect(addressKey(text)).toBe(text)
  })

  it('is the same for two IPv6 addresses exactly when their first bits are', () => {
    const group = fc.integer({ min: 0, max: 0xffff })
    const groups = fc.array(group, { minLength: 8, maxLength: 8 })
    fc.assert(
      fc.property(groups, groups, fc.integer({ min: 1, max: 128 }), (one, two, prefix) => {
        fc.pre(one[0] !== 0 && two[0] !== 0)
        const same = bits(one).slice(0, prefix) === bits(two).slice(0, prefix)
        expect(addressKey(text(one), prefix) === addressKey(text(two), prefix)).toBe(same)
        const sibling = [...one.slice(0, 7), (one[7] ?? 0) ^ 1]
        expect(addressKey(text(sibling), Math.min(prefix, 127))).toBe(
          addressKey(text(one), Math.min(prefix, 127)),
        )
      }),
    )
  })
})

function bits(groups: readonly number[]): string {
  return groups.map((group) => group.toString(2).padStart(16, '0')).join('')
}

function text(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(':')
}
