import { expect, test } from 'vitest'
import { pageOf, problemsOf } from './support/coverage.ts'

const tests = ['pins › listing > is by time', 'pins › a pin is shown']

test('a row is held by a test or a group of tests', () => {
  const holders = ['pins › a pin is shown', 'pins › listing', 'pins › listing > is by time']
  expect(problemsOf({ Pins: { all: holders } }, tests)).toEqual([])
  expect(pageOf({ Pins: { all: holders } })).toContain('| all | [pins](pins.test.ts) › a pin is shown<br>[pins](pins.test.ts) › listing<br>')
})

test('a row that nothing holds, and a test that is not there, are named', () => {
  expect(problemsOf({ Pins: { bare: [], renamed: ['pins › list'] } }, tests)).toEqual([
    'Pins, bare: nothing holds it',
    'Pins, renamed: there is no "pins › list"',
  ])
})
