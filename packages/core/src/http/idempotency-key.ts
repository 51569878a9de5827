/** What a request says of its key: none, one, or something that is none. */
export type KeyField =
  | { readonly state: 'absent' }
  | { readonly state: 'key'; readonly key: string }
  | { readonly state: 'invalid'; readonly detail: string }

/**
 * Reads the key from a request's raw fields: a structured Item (RFC 9651) whose value is a String; parameters are
 * ignored. Most clients send the bare token, also one that begins with a digit as most UUIDs do, which is no Item of any
 * kind: hence no general parser. It names the same key as the quoted form.
 */
export function readKey(rawHeaders: readonly string[], header: string): KeyField {
  const keys = new Set<string>()
  const name = header.toLowerCase()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== name) continue
    const value = rawHeaders[at + 1] ?? ''
    const key = parseKey(value)
    if (!key || key.length > MAX_LENGTH) return invalid(`${header} must ${expected(value, key)}`)
    keys.add(key)
  }
  const [key, ...others] = keys
  if (key === undefined) return { state: 'absent' }
  return others.length > 0
    ? invalid(`${header} was sent with several values`)
    : { state: 'key', key }
}

/** The key of one field value; undefined for what is neither a String nor a bare token. */
export function parseKey(value: string): string | undefined {
  const [, quoted, bare] = ITEM.exec(value) ?? []
  if (quoted !== undefined) return quoted.replace(/\\(.)/g, '$1')
  return bare === undefined || OTHER_ITEM.test(bare) ? undefined : bare
}

function invalid(detail: string): KeyField {
  return { state: 'invalid', detail }
}

function expected(value: string, key: string | undefined): string {
  if (key) return `have ${MAX_LENGTH} characters at most`
  return value.trim() === '' || key === '' ? 'not be empty' : 'be a String, such as "8e03978e-40d5"'
}

const MAX_LENGTH = 255

// RFC 9651, sections 3.1.2 and 3.3.
const STRING = String.raw`"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"`
const TOKEN = String.raw`[\w!#$%&'*+.^\`|~:/-]+`
const BARE_ITEM = [
  String.raw`"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"`,
  String.raw`%"[\x20\x21\x23-\x7e]*"`,
  ':[A-Za-z0-9+/=]*:',
  String.raw`\?[01]`,
  String.raw`@?-?\d{1,15}(?:\.\d{1,3})?`,
  String.raw`[A-Za-z*][\w!#$%&'*+.^\`|~:/-]*`,
].join('|')
const PARAMETERS = `(?:; *[a-z*][a-z0-9_.*-]*(?:=(?:${BARE_ITEM}))?)*`
const ITEM = new RegExp(`^ *(?:${STRING}|(${TOKEN}))${PARAMETERS} *$`)

/** Integers, Decimals and Byte Sequences are made of the same characters, but are Items of other kinds. */
const OTHER_ITEM = /^(?:-?\d+(?:\.\d*)?|:.*)$/
