/** Says, once a process, that cookies do not tell callers apart: nobody but the application knows what is in them. */
export function warnOfCookies(): void {
  if (warned) return
  warned = true
  process.emitWarning(
    'A request with an idempotency key brings cookies and no Authorization, and idempotency() has no `scope`: whoever ' +
      'presents the same key and the same request gets the same answer. Set `scope` to what identifies a caller.',
    { type: 'SluiceWarning', code: 'SLUICE_IDEMPOTENCY_SCOPE' },
  )
}

let warned = false
