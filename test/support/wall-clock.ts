// Preloaded by `Child`: sets this process's wall clock off by CLOCK_OFFSET_MS. Monotonic clocks stay as they are.
const offsetMs = Number(process.env['CLOCK_OFFSET_MS'] ?? 0)
const RealDate = Date
const now = (): number => RealDate.now() + offsetMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length > 0 ? args : [now()], newTarget),
  apply: () => new RealDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
})
