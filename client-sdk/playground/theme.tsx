import { useEffect, useState } from 'react'
import { Icon } from './icons.tsx'

const themes = ['auto', 'light', 'dark'] as const
const KEY = 'parley-playground-theme'

/** Switches between light, dark and the system's theme, and remembers the choice. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(
    () => themes.find((known) => known === localStorage.getItem(KEY)) ?? 'auto',
  )
  useEffect(() => {
    document.documentElement.dataset.theme = theme
    localStorage.setItem(KEY, theme)
  }, [theme])
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'auto'
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={`Theme: ${theme}. Change to ${next}`}
      title={`Theme: ${theme}`}
      onClick={() => setTheme(next)}
    >
      <Icon name="theme" />
    </button>
  )
}
