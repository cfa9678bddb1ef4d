import { createContext, useContext } from 'react'

/** Where a user can go from anywhere in their pane. */
export type Navigation = {
  openChannel: (channelId: string) => void
  /** Shows who somebody is. */
  openProfile: (userId: string) => void
}

export const NavigationContext = createContext<Navigation | null>(null)

export function useNavigation(): Navigation {
  const navigation = useContext(NavigationContext)
  if (!navigation) throw new Error('useNavigation needs a NavigationContext above')
  return navigation
}
