import { isIPv4, isIPv6 } from 'node:net'

/**
 * The partition key of a client's address: IPv4 as it is, also when written as IPv6 (`::ffff:1.2.3.4`);
 * IPv6 by its first `ipv6Prefix` bits (1 to 128; default 56), since one client is given many addresses;
 * clients without an address (Unix sockets) share one key. Brackets, ports and zones are ignored. What
 * is no address stays as it is.
 *
 * @example
 * ```ts
 * import { addressKey } from '@sluice/core'
 * addressKey('::ffff:192.0.2.7') // '192.0.2.7'
 * addressKey('2001:db8:7:ab12::1') // '2001:db8:7:ab00::/56'
 * ```
 */
export function addressKey(address: string | undefined, ipv6Prefix = 56): string {
  if (!address) return NO_ADDRESS
  if (!address.includes(':')) return address
  const bare = unwrap(address)
  if (isIPv4(bare)) return bare
  if (!isIPv6(bare)) return address
  const groups = groupsOf(bare)
  return mappedIPv4(groups) ?? prefixOf(groups, ipv6Prefix)
}

/** No address looks like this, so nobody can be put among those without one. */
const NO_ADDRESS = '(no address)'

/** `[2001:db8::1]:443` and `192.0.2.7:51234` as some proxies write them, `fe80::1%eth0` as Node.js does. */
function unwrap(address: string): string {
  if (address.startsWith('::ffff:') && isIPv4(address.slice(7))) return address.slice(7)
  const [outside = '', inside] = address.split('[')
  const bare = inside === undefined ? outside : (inside.split(']')[0] ?? '')
  const [host = '', ...rest] = bare.split(':')
  return rest.length === 1 && isIPv4(host) ? host : (bare.split('%')[0] ?? '')
}

/** The eight 16-bit groups of a valid IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const [head = [], tail] = address.split('::').map(explicitGroups)
  if (tail === undefined) return head
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

function explicitGroups(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

function mappedIPv4(groups: readonly number[]): string | undefined {
  if (groups[5] !== 0xffff || groups.slice(0, 5).some((group) => group !== 0)) return undefined
  const [high = 0, low = 0] = groups.slice(6)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

function prefixOf(groups: readonly number[], bits: number): string {
  const kept = groups.slice(0, Math.ceil(bits / 16)).map((group, index) => {
    const dropped = Math.max(0, 16 * (index + 1) - bits)
    return ((group >> dropped) << dropped).toString(16)
  })
  return `${kept.join(':')}${kept.length < 8 ? '::' : ''}/${bits}`
}
