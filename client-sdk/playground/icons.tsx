import type { ReactNode } from 'react'

const shapes = {
  attach: <path d="M20 11l-8 8a5 5 0 0 1-7-7l8-8a3 3 0 0 1 5 5l-8 8a2 2 0 0 1-3-3l7-7" />,
  back: <path d="M15 5l-7 7 7 7" />,
  bolt: <path d="M13 3L5 14h6l-1 7 8-11h-6z" />,
  box: <path d="M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8" />,
  close: <path d="M6 6l12 12M18 6L6 18" />,
  compass: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M15.5 8.5l-2 5-5 2 2-5z" />
    </>
  ),
  delete: <path d="M4 7h16M9 7V4h6v3m-8 0l1 13h8l1-13" />,
  down: <path d="M12 5v14m-6-6l6 6 6-6" />,
  edit: <path d="M4 20h4L19 9l-4-4L4 16zM13 7l4 4" />,
  file: <path d="M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6" />,
  globe: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M3 12h18M12 3c5 5 5 13 0 18-5-5-5-13 0-18z" />
    </>
  ),
  hash: <path d="M5 9h15M4 15h15M10 4L8 20M16 4l-2 16" />,
  help: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 16.5v.2" />
    </>
  ),
  info: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M12 11v5.500M12 7.500v.2" />
    </>
  ),
  link: (
    <>
      <path d="M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-6-6l-1.5 1.5" />
      <path d="M14 10a4 4 0 0 0-6-.5l-3 3a4 4 0 0 0 6 6l1.5-1.5" />
    </>
  ),
  lock: (
    <>
      <rect x="5" y="11" width="14" height="9" rx="2" />
      <path d="M8 11V8a4 4 0 0 1 8 0v3" />
    </>
  ),
  mute: <path d="M6 9h3l5-4v14l-5-4H6zM3 3l18 18" />,
  menu: <path d="M4 7h16M4 12h16M4 17h16" />,
  pause: <path d="M8 5v14M16 5v14" />,
  people: (
    <>
      <circle cx="9" cy="8" r="3.5" />
      <path d="M2.5 20a6.5 6.5 0 0 1 13 0M16 5a3.5 3.5 0 0 1 0 6.5M18.5 14.5a6.5 6.5 0 0 1 3 5.5" />
    </>
  ),
  personAdd: (
    <>
      <circle cx="10" cy="8" r="3.5" />
      <path d="M3 20a7 7 0 0 1 13-3.5M19 13v7M15.5 16.5h7" />
    </>
  ),
  pin: <path d="M9 4h6l-1 6 4 4H6l4-4zM12 14v7" />,
  play: <path d="M7 5l11 7-11 7z" />,
  plug: <path d="M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4" />,
  plus: <path d="M12 5v14M5 12h14" />,
  quote: <path d="M5 17V7h5v6l-3 4zM14 17V7h5v6l-3 4z" />,
  reply: <path d="M9 6l-6 6 6 6M3 12h11a6 6 0 0 1 6 6v1" />,
  retry: <path d="M4 12a8 8 0 1 1 2.5 5.800M4 19v-5h5" />,
  search: (
    <>
      <circle cx="11" cy="11" r="6.5" />
      <path d="M16 16l4.5 4.5" />
    </>
  ),
  send: <path d="M4 12l16-8-5 16-4-6z" />,
  smile: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M8.5 14.5a4.5 4.5 0 0 0 7 0M9 9.5v.5M15 9.5v.5" />
    </>
  ),
  star: (
    <path d="M12 4l2.500 5.200 5.500.7-4 3.900 1 5.700-5-2.800-5 2.800 1-5.700-4-3.900 5.500-.7z" />
  ),
  theme: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M12 3a9 9 0 0 1 0 18z" fill="currentColor" />
    </>
  ),
  thread: <path d="M4 5h16v11h-8l-5 4v-4H4z" />,
  up: <path d="M12 19V5m-6 6l6-6 6 6" />,
  wire: <path d="M3 12h4l3-7 4 14 3-7h4" />,
} satisfies Record<string, ReactNode>

export type IconName = keyof typeof shapes

/** A decorative icon beside a text or in a labelled button: screen readers skip it. */
export const Icon = ({ name, size = 18 }: { name: IconName; size?: number }) => (
  <svg
    className="icon"
    aria-hidden="true"
    viewBox="0 0 24 24"
    width={size}
    height={size}
    fill="none"
    stroke="currentColor"
    strokeWidth="1.8"
    strokeLinecap="round"
    strokeLinejoin="round"
  >
    {shapes[name]}
  </svg>
)
