import { expect, test } from 'vitest'
import { pageOf, problemsOf } from './support/coverage.ts'

const tests = ['pins › listing > is by time', 'pins › a pin is shown']

test('a row is held by a test, a group of tests, or work to come', () => {
  const holders = ['pins › a pin is shown', 'pins › listing', 'pins › listing > is by time', 'later: push']
  expect(problemsOf({ Pins: { all: holders } }, tests)).toEqual([])
  expect(pageOf({ Pins: { all: holders } })).toContain('| all | [pins](pins.test.ts) › a pin is shown<br>[pins](pins.test.ts) › listing<br>')
})

test('a row that nothing holds, a test that is not there and work that nobody plans are named', () => {
  expect(problemsOf({ Pins: { bare: [], renamed: ['pins › list'], vague: ['later: someday'] } }, tests)).toEqual([
    'Pins, bare: nothing holds it',
    'Pins, renamed: there is no "pins › list"',
    'Pins, vague: there is no "later: someday"',
  ])
})
