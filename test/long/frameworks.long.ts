import type { Store } from '@parley/client'
import { createFakeChat } from '@parley/client/testing'
import { derived, get, type Readable } from 'svelte/store'
import ts from 'typescript'
import { expect, test } from 'vitest'
import * as vue from 'vue'
import { texts } from '../support/chat.ts'
import { examplesOf } from '../support/examples.ts'

type Messages = ReturnType<ReturnType<typeof createFakeChat>['channel']>['messages']
type Shown = ReturnType<Messages['getSnapshot']>

test("the README's recipe for Vue shows a store, and lets go of it with its component", () => {
  type Recipe = { useStore: (store: Store<Shown>) => vue.ShallowRef<Shown> }
  const { useStore } = recipeOf<Recipe>("from 'vue'", vue)
  const room = roomOf()
  const scope = vue.effectScope()
  const shown = scope.run(() => useStore(room.messages))
  const seen: string[] = []
  const stop = vue.watchSyncEffect(
    () => void seen.push(texts(shown?.value ?? { items: [] }).join()),
  )
  room.receive({ from: 'ben', text: 'one' })
  expect(new Set(seen)).toEqual(new Set(['', 'one']))
  scope.stop()
  room.receive({ from: 'ben', text: 'two' })
  expect(seen).not.toContain('one,two')
  stop()
})

test("the README's recipe for Svelte is a readable store", () => {
  type Recipe = { toSvelte: (store: Store<Shown>) => Readable<Shown> }
  const { toSvelte } = recipeOf<Recipe>("from 'svelte/store'")
  const room = roomOf()
  const messages = toSvelte(room.messages)
  expect(texts(get(messages))).toEqual([])
  const counts: number[] = []
  const stop = derived(messages, ({ items }) => items.length).subscribe((count) => {
    counts.push(count)
  })
  room.receive({ from: 'ben', text: 'one' })
  stop()
  room.receive({ from: 'ben', text: 'two' })
  expect(new Set(counts)).toEqual(new Set([0, 1]))
  expect(texts(get(messages))).toEqual(['one', 'two'])
})

const roomOf = () =>
  createFakeChat({ me: 'ana', channels: [{ id: 'team', name: 'Team' }] }).channel('team')

/** The module of the recipe that has this text; `imported` is what it imports. */
function recipeOf<Recipe>(text: string, imported: object = {}) {
  const recipe = examplesOf('client-sdk/README.md').find((block) => block.includes(text)) ?? ''
  const { outputText } = ts.transpileModule(recipe, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS },
  })
  const exports = {}
  new Function('exports', 'require', outputText)(exports, () => imported)
  return exports as Recipe // what the recipe exports
}
