import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, it } from 'vitest'
import { hideClose } from '../../src/http/hidden-close.ts'

it('I9: a close that was kept from a handler is told once, however often that is asked for', () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const told: string[] = []
  for (const event of ['finish', 'close', 'drain']) response.on(event, () => told.push(event))
  const show = hideClose(response, () => true)
  show()
  for (const event of ['drain', 'finish', 'close']) response.emit(event)
  expect(told).toEqual(['drain'])
  show()
  show()
  expect(told).toEqual(['drain', 'finish', 'close'])
})

it('I9: a close is told at once where nothing is kept', () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  let closes = 0
  response.on('close', () => closes++)
  const show = hideClose(response, () => false)
  response.emit('close')
  show()
  expect(closes).toBe(1)
})
