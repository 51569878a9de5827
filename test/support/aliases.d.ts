// The older major versions are installed under other names; their types are close enough to the current ones.
declare module 'express4' {
  export * from 'express'
  export { default } from 'express'
}

declare module 'koa2' {
  export * from 'koa'
  export { default } from 'koa'
}
