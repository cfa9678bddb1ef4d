import { useTyping } from '@parley/client/react'
import { firstName, namesOf } from './format.ts'

/** Names the users who are typing. It takes up space even when empty, so that nothing moves. */
export function Typing({ channelId }: { channelId: string }) {
  const { typists } = useTyping(channelId)
  const names = typists.map(({ name }) => firstName(name))
  return (
    <p className="typing" role="status">
      {names.length > 0 && (
        <>
          <span className="typing-dots" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
          {namesOf(names)} {names.length === 1 ? 'is' : 'are'} typing…
        </>
      )}
    </p>
  )
}
