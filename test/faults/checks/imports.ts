import type { Check } from '../history.ts'

/** Imported channels have each message once, in the order of their times, however often it ran. */
export const importedOnce: Check = ({ imports, found }) =>
  imports.flatMap(({ channels, refused, importedAgain }) => [
    ...channels.flatMap(({ channelId, texts }) => {
      const there = found.imported.find((one) => one.channelId === channelId)?.texts ?? []
      return there.join('\n') === texts.join('\n')
        ? []
        : [`channel ${channelId} has ${there.length} imported messages of ${texts.length}`]
    }),
    ...(refused > 0 ? [`an import refused ${refused} records`] : []),
    ...(importedAgain > 0
      ? [`an import was complete, and ${importedAgain} messages were new`]
      : []),
  ])

/** Counters are what the rows say. */
export const countersExact: Check = ({ found }) =>
  Object.entries(found.wrongRows)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} wrong counters of ${kind}`)
